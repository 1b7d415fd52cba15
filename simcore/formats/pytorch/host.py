"""Reads PyTorch execution traces (the host side): operators, their callers and tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from pathlib import Path

from simcore.errors import ConfigError, short
from simcore.files.input_file import MAX_PROFILE_BYTES
from simcore.files.json_file import read_json

MAX_INT = (1 << 63) - 1
MAX_US = float(1 << 53)
"""The longest time in microseconds: 285 years, up to which a float tells each from the next."""


class Entry:
    """A JSON object with its place, for errors.

    Attributes:
        data: Its keys and values.
        at: File and position, such as ``trace.json nodes[3]``.
    """

    __slots__ = ("at", "data")

    def __init__(self, data: object, at: str) -> None:
        if not isinstance(data, dict):
            raise ConfigError(at, "must be an object", got=data)
        self.data, self.at = data, at

    def error(self, key: str, rule: str) -> ConfigError:
        """The error for the value of *key*."""
        return ConfigError(f"{self.at}.{key}", rule, got=self.data.get(key))

    def text(self, key: str) -> str:
        """A text; empty where absent or null."""
        value = self.data.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(key, "must be a text")
        return value

    def whole(self, key: str, default: int | None = None, *, least: int = 0) -> int:
        """A whole number of 64 bits, of at least *least*; *default* where absent or null."""
        value = self.data.get(key)
        if value is None:
            value = default
        if type(value) is not int or not least <= value <= MAX_INT:
            raise self.error(key, f"must be a whole number from {least} to 2^63 - 1")
        return value

    def time_us(self, key: str, *, least: float = 0.0) -> float:
        """A time in microseconds; 0 where absent or null."""
        value = self.data.get(key)
        if value is None:
            return 0.0
        fine = type(value) is float or type(value) is int
        if not fine or not least <= value <= MAX_US or not isfinite(value):
            raise self.error(key, f"must be a time from {least:g} to 2^53 microseconds")
        return float(value)

    def items(self, key: str) -> list[object]:
        """A list; empty where absent or null."""
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, "must be a list")
        return value

    def inner(self, key: str) -> "Entry":
        """An object; empty where there is none."""
        value = self.data.get(key)
        return Entry(value if isinstance(value, dict) else {}, f"{self.at}.{key}")


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
    """Process and time in the head."""
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
