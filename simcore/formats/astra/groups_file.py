"""Reads communicator groups: ASTRA-sim's file, and the process groups that PyTorch records."""

from pathlib import Path
from typing import TYPE_CHECKING

from simcore.errors import ConfigError
from simcore.formats.astra.json_table import read_json

if TYPE_CHECKING:
    from simcore.formats.chakra.messages import Node

Groups = dict[int, tuple[int, ...]]


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
        if not (key.isascii() and key.isdigit()):
            raise ConfigError(f"{path} {key}", "a group id must be a decimal number", got=key)
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
    import json

    try:
        texts = ast.literal_eval(node.inputs.values)
        items = json.loads(texts[0]) if texts else []
        pairs = [(int(item["pg_name"]), item["ranks"]) for item in items]
    except (ValueError, SyntaxError, TypeError, KeyError, IndexError):
        rule = "input values of a metadata node must be a list with the process groups as JSON"
        raise ConfigError(at, rule, got=node.inputs.values) from None
    return {
        key: _members(at, ranks, npus) if ranks else tuple(range(npus))
        for key, ranks in pairs
        if key > 0
    }
