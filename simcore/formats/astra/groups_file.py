"""Reads communicator groups: ASTRA-sim's file, and the process groups that PyTorch records."""

from pathlib import Path
from typing import TYPE_CHECKING

from simcore.errors import ConfigError, short
from simcore.files.json_file import parse_json, read_json

if TYPE_CHECKING:
    from simcore.formats.chakra.messages import Node

Groups = dict[int, tuple[int, ...]]
_LONGEST_ID = 18
_UNREADABLE = (
    *(ValueError, SyntaxError, TypeError, KeyError, IndexError, AttributeError),
    *(RecursionError, MemoryError),  # what Python's parser says of deep expressions
)


def read_groups(path: Path, npus: int, notes: list[str]) -> Groups:
    """Members of each group by its id, in the order of the file, which is their logical order.

    Raises:
        ConfigError: An id is no number, or the members are no distinct NPU ids below *npus*.
    """
    data = read_json(path)
    if not isinstance(data, dict):
        raise ConfigError(str(path), "must map group ids to lists of NPU ids", got=data)
    groups: Groups = {}
    for key, members in data.items():
        if not (key.isascii() and key.isdigit() and len(key) <= _LONGEST_ID):
            rule = f"a group id must be a decimal number of at most {_LONGEST_ID} digits"
            raise ConfigError(f"{path} {short(key)}", rule, got=key)
        if int(key) == 0:
            notes.append(f"{path}: group 0 is ignored; 0 always means every NPU.")
            continue
        groups[int(key)] = _members(f"{path} {key}", members, npus)
    return groups


def _members(at: str, members: object, npus: int) -> tuple[int, ...]:
    rule = f"must be a list of distinct NPU ids from 0 to {npus - 1}"
    if not isinstance(members, list) or not members or len(set(map(str, members))) < len(members):
        raise ConfigError(at, rule, got=members)
    for member in members:
        if not isinstance(member, int) or isinstance(member, bool) or not 0 <= member < npus:
            raise ConfigError(at, rule, got=member)
    return tuple(members)


def process_groups(node: "Node", *, npus: int, at: str) -> Groups:
    """The groups that a PyTorch ``process_group:init`` node defines; none for other nodes.

    Its input values are Python's repr of a list with one JSON text; no ranks means all of them.

    Raises:
        ConfigError: The text is there but cannot be read.
    """
    if node.inputs is None or not node.inputs.values:
        return {}
    import ast

    try:
        texts = ast.literal_eval(node.inputs.values)
        items = parse_json(texts[0], at) if texts else []
        pairs = [(int(item["pg_name"]), item["ranks"]) for item in items]  # type: ignore
    except _UNREADABLE:
        rule = "input values of a metadata node must be a list with the process groups as JSON"
        raise ConfigError(at, rule, got=node.inputs.values) from None
    return {
        key: _members(at, ranks, npus) if ranks else tuple(range(npus))
        for key, ranks in pairs
        if key > 0
    }
