"""Reads PyTorch execution traces (the host side): operators, their callers and tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from simcore.errors import ConfigError, short
from simcore.files.input_file import MAX_PROFILE_BYTES
from simcore.files.json_file import read_json
from simcore.formats.pytorch.entry import MAX_INT, Entry

OLDEST_SCHEMA = (1, 0, 2)
_LONGEST_VERSION = 40
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
    head: Mapping[str, int | str]
    nodes: tuple[HostNode, ...]


def read_host_trace(path: Path) -> HostTrace:
    """Reads a host trace of schema 1.0.2 or later.

    Raises:
        ConfigError: The file is none, is of an older schema, or holds a node that cannot be.
    """
    data = read_json(path, MAX_PROFILE_BYTES)
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise ConfigError(str(path), "must be a PyTorch execution trace with nodes", got="none")
    schema = str(data.get("schema", ""))
    if _version(schema) < OLDEST_SCHEMA:
        raise ConfigError(f"{path} schema", "must be 1.0.2 or later", got=schema)
    entries = enumerate(data["nodes"])
    nodes = sorted(
        (_node(Entry(entry, f"{path} nodes[{at}]")) for at, entry in entries),
        key=lambda node: node.id,
    )
    for before, node in pairwise(nodes):
        if before.id == node.id:
            raise ConfigError(f"{path} nodes", "each needs an id of its own", got=node.id)
    head = Entry({key: value for key, value in data.items() if key != "nodes"}, str(path))
    return HostTrace(path=path, schema=schema, head=_head(head), nodes=tuple(nodes))


def _head(entry: Entry) -> dict[str, int | str]:
    """What the head says of process and time."""
    found: dict[str, int | str] = {}
    for key in ("pid", "start_ts", "finish_ts"):
        if isinstance(entry.data.get(key), int | float):
            found[key] = int(entry.time_us(key))
    if isinstance(entry.data.get("time"), str):
        found["time"] = entry.text("time")
    return found


def _version(schema: str) -> tuple[int, ...]:
    numbers = schema[:_LONGEST_VERSION].partition("-")[0].split(".")
    return tuple(int(number) for number in numbers if number.isascii() and number.isdigit())


def _node(entry: Entry) -> HostNode:
    return HostNode(
        id=entry.whole("id"),
        name=entry.text("name"),
        caller=entry.whole("ctrl_deps"),
        inputs=_lists(entry.inner("inputs")),
        outputs=_lists(entry.inner("outputs")),
        attributes=_attributes(entry),
    )


def _attributes(entry: Entry) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in entry.items("attrs"):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            continue
        name, value = item["name"], item.get("value")
        if isinstance(value, int) and not -MAX_INT <= value <= MAX_INT:
            rule = "must be a whole number below 2^63"
            raise ConfigError(f"{entry.at} {short(name)}", rule, got=value)
        found[name] = value
    return found


def _lists(entry: Entry) -> TensorLists:
    return TensorLists(
        values=tuple(entry.items("values")),
        shapes=tuple(entry.items("shapes")),
        types=tuple(entry.items("types")),
    )


def tensor_bytes(node: HostNode) -> int:
    """Bytes of all input tensors: elements times bytes each, which a tensor's value lists.

    Raises:
        ConfigError: A tensor lists something else, or they are too large for 63 bits.
    """
    pairs = zip(node.inputs.values, node.inputs.types, strict=False)
    tensors = [value for value, kind in pairs if "Tensor(" in str(kind)]
    total = sum(_value_bytes(value, node) for value in tensors)
    if total > MAX_INT:
        raise _tensor_error(node, total)
    return total


def _value_bytes(value: object, node: HostNode) -> int:
    if not isinstance(value, list):
        return 0
    if len(value) >= 6 and isinstance(value[5], str) and isinstance(value[3], int):
        elements, each = value[3], value[4]  # after id, storage and offset, before the device
        if type(each) is not int or elements < 0 or each < 0:
            raise _tensor_error(node, value)
        return int(elements) * each
    return sum(_value_bytes(item, node) for item in value)


def _tensor_error(node: HostNode, got: object) -> ConfigError:
    rule = "a tensor must list a number of elements and the bytes of each, below 2^63 in all"
    return ConfigError(f"node {node.id} ({short(node.name)})", rule, got=got)
