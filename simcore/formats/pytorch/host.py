"""Reads PyTorch execution traces (the host side): operators, their callers and tensors."""

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simcore.errors import ConfigError
from simcore.input_file import GZIP_MAGIC

OLDEST_SCHEMA = (1, 0, 2)
ROOT = "[pytorch|profiler|execution_trace|process]"
THREADS = (
    "[pytorch|profiler|execution_trace|thread]",
    "[pytorch|profiler|execution_graph|thread]",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorLists:
    """Inputs or outputs of an operator: values, shapes and types, in parallel lists."""

    values: tuple[object, ...] = ()
    shapes: tuple[object, ...] = ()
    types: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNode:
    """An operator as the host ran it.

    Attributes:
        id: Unique in the trace.
        name: Of the operator.
        caller: Id of the operator that called it; its own id for the root.
        inputs: Its inputs.
        outputs: Its outputs.
        attributes: rf_id, tid, seq_id and so on.
    """

    id: int
    name: str
    caller: int
    inputs: TensorLists = field(default_factory=TensorLists)
    outputs: TensorLists = field(default_factory=TensorLists)
    attributes: Mapping[str, object] = field(default_factory=dict)

    @property
    def record_id(self) -> int:
        """The record function id, which the device trace names as well; 0: none."""
        value = self.attributes.get("rf_id", 0)
        return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTrace:
    """A host trace: nodes by ascending id, and what its head says."""

    path: Path
    schema: str
    head: Mapping[str, object]
    nodes: tuple[HostNode, ...]


def read_json_file(path: Path) -> object:
    """The content of a JSON file, packed with gzip or not.

    Raises:
        ConfigError: It cannot be read or is not JSON.
    """
    try:
        raw = path.read_bytes()
        if raw[:2] == GZIP_MAGIC:
            raw = gzip.decompress(raw)
        data: object = json.loads(raw)
    except OSError as error:
        raise ConfigError(str(path), "must be a readable file", got=str(error)) from None
    except (ValueError, EOFError, zlib.error) as error:
        raise ConfigError(str(path), "must be JSON, plain or gzip", got=str(error)) from None
    return data


def read_host_trace(path: Path) -> HostTrace:
    """Reads a host trace of schema 1.0.2 or later.

    Raises:
        ConfigError: The file is none, or of an older schema.
    """
    data = read_json_file(path)
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise ConfigError(str(path), "must be a PyTorch execution trace with nodes", got="none")
    schema = str(data.get("schema", ""))
    if _version(schema) < OLDEST_SCHEMA:
        raise ConfigError(f"{path} schema", "must be 1.0.2 or later", got=schema)
    nodes = [_node(path, entry) for entry in data["nodes"]]
    head = {key: value for key, value in data.items() if key != "nodes"}
    ordered = tuple(sorted(nodes, key=lambda node: node.id))
    return HostTrace(path=path, schema=schema, head=head, nodes=ordered)


def _version(schema: str) -> tuple[int, ...]:
    numbers = schema.partition("-")[0].split(".")
    return tuple(int(number) for number in numbers if number.isdigit())


def _node(path: Path, entry: object) -> HostNode:
    if not isinstance(entry, dict):
        raise ConfigError(f"{path} nodes", "each must be an object", got=entry)
    number, caller = entry.get("id"), entry.get("ctrl_deps")
    if not isinstance(number, int) or not isinstance(caller, int):
        raise ConfigError(f"{path} nodes", "each needs the ids id and ctrl_deps", got=number)
    attributes = {
        str(item["name"]): item.get("value")
        for item in entry.get("attrs", ())
        if isinstance(item, dict) and "name" in item
    }
    return HostNode(
        id=number,
        name=str(entry.get("name", "")),
        caller=caller,
        inputs=_lists(entry.get("inputs")),
        outputs=_lists(entry.get("outputs")),
        attributes=attributes,
    )


def _lists(entry: object) -> TensorLists:
    if not isinstance(entry, dict):
        return TensorLists()
    parts = {key: tuple(entry.get(key) or ()) for key in ("values", "shapes", "types")}
    return TensorLists(**parts)


def tensor_bytes(lists: TensorLists) -> int:
    """Bytes of all tensors: elements times bytes per element, which a tensor's value lists."""
    return sum(
        _value_bytes(value)
        for value, kind in zip(lists.values, lists.types, strict=False)
        if "Tensor(" in str(kind)
    )


def _value_bytes(value: object) -> int:
    if not isinstance(value, list):
        return 0
    if len(value) >= 6 and isinstance(value[5], str) and isinstance(value[3], int):
        return int(value[3]) * int(value[4])  # id, storage, offset, elements, bytes each, device
    return sum(_value_bytes(item) for item in value)
