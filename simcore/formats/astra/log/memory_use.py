"""Follows the tensors that nodes read and write, as ASTRA-sim's local memory tracker does."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcore.errors import ConfigError
from simcore.formats.chakra.messages import Node
from simcore.formats.chakra.trace import Ints

_UNITS = ("B", "KB", "MB", "GB", "TB")
_NEVER_WRITTEN_UNTIL_NS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One read or write of a tensor, by the node that does it (None: before the trace)."""

    start_ns: int
    end_ns: int
    node: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor's life: from the start of its write to the end of the last recorded read."""

    name: str
    size_bytes: int
    write: Access
    reads: tuple[Access, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Memory of one NPU over time.

    Attributes:
        tensors: In the order in which they appeared.
        timeline: (time in ns, bytes then in use), ascending.
    """

    tensors: tuple[Tensor, ...]
    timeline: tuple[tuple[int, int], ...]

    @property
    def peak_bytes(self) -> int:
        """The most bytes in use at once."""
        return max((used for _, used in self.timeline), default=0)

    @property
    def peak_text(self) -> str:
        """The peak as ASTRA-sim prints it, in units of 1024."""
        return format_bytes(self.peak_bytes)


def format_bytes(size_bytes: int) -> str:
    """*size_bytes* with two decimals, in single precision, in B, KB, MB, GB or TB of 1024."""
    power = 0
    while power < len(_UNITS) - 1 and size_bytes >= 1024 ** (power + 1):
        power += 1
    return f"{np.float32(size_bytes) / np.float32(1024.0**power):.2f} {_UNITS[power]}"


def track_memory(nodes: Sequence[Node], start_ns: Ints, end_ns: Ints, *, place: str) -> MemoryUse:
    """Memory use of one NPU.

    Args:
        nodes: By position, with the text lists ``inputs`` and ``outputs`` (name, size, ...).
        start_ns: (T,) int64 start of each, -1 where it never ran.
        end_ns: (T,) int64, likewise.
        place: What error messages call the trace.

    Raises:
        ConfigError: A node lacks a list, has an odd one, or writes a tensor again.
    """
    sizes: dict[str, int] = {}
    writes: dict[str, Access] = {}
    reads: dict[str, list[Access]] = {}
    for t in np.lexsort((start_ns, end_ns)).tolist():
        if end_ns[t] < 0:
            continue
        node = nodes[t]
        access = Access(start_ns=int(start_ns[t]), end_ns=int(end_ns[t]), node=node)
        at = f"{place} node {node.id}"
        for name, size in _tensors(node, "inputs", at):
            if name not in sizes:
                sizes[name] = size
                writes[name] = Access(start_ns=0, end_ns=_NEVER_WRITTEN_UNTIL_NS, node=None)
            reads.setdefault(name, []).append(access)
        for name, size in _tensors(node, "outputs", at):
            if name in sizes:
                rule = "a tensor must be written once, and before it is read"
                raise ConfigError(at, rule, got=name)
            sizes[name] = size
            writes[name] = access
    tensors = tuple(
        Tensor(name=name, size_bytes=size, write=writes[name], reads=tuple(reads.get(name, ())))
        for name, size in sizes.items()
    )
    return MemoryUse(tensors=tensors, timeline=_timeline(tensors))


def _tensors(node: Node, which: str, at: str) -> list[tuple[str, int]]:
    found = node.attribute(which)
    if found is None:
        raise ConfigError(at, f"track-local-mem needs the attribute {which}", got="none")
    if found.kind != "string_list" or not isinstance(found.value, tuple):
        return []
    values = [str(value) for value in found.value]
    rule = f"{which} must list names and sizes in turn"
    if len(values) % 2:
        raise ConfigError(at, rule, got=f"{len(values)} entries")
    try:
        pairs = [(values[i], int(float(values[i + 1]))) for i in range(0, len(values), 2)]
    except (ValueError, OverflowError):
        raise ConfigError(at, rule, got=values) from None
    return [(name, size) for name, size in pairs if size]


def _timeline(tensors: tuple[Tensor, ...]) -> tuple[tuple[int, int], ...]:
    change: dict[int, int] = {}
    for tensor in tensors:
        begin = tensor.write.start_ns
        change[begin] = change.get(begin, 0) + tensor.size_bytes
        if tensor.reads:
            end = max(tensor.reads[-1].end_ns, begin)
            change[end] = change.get(end, 0) - tensor.size_bytes
    used, points = 0, []
    for time in sorted(change):
        used += change[time]
        points.append((time, used))
    return tuple(points)


Event = dict[str, object]

_LIFETIMES, _COUNTER, _HEAT_MAP = 1_000_000, 2_000_000, 3_000_000
_MIB = 1024.0 * 1024.0
_BEFORE_ANY_NODE = (1 << 64) - 1


def write_memory_trace(path: Path, use: MemoryUse, npu: int) -> None:
    """Writes the Chrome trace of one NPU; process ids are ASTRA-sim's (the NPU id plus 10^6...)."""
    events = _accesses(use, npu) + _lifetimes(use, npu + _LIFETIMES)
    events += _counter(use, npu + _COUNTER) + _heat_map(use, npu + _HEAT_MAP)
    path.write_text(json.dumps({"traceEvents": events}, indent=2), encoding="utf-8")


def _accesses(use: MemoryUse, process: int) -> list[Event]:
    events: list[Event] = []
    for thread, tensor in enumerate(use.tensors):
        for category, access in (
            *(("tensorRead", read) for read in tensor.reads),
            ("tensorWrite", tensor.write),
        ):
            for phase, time in (("B", access.start_ns), ("E", access.end_ns)):
                event = _event(tensor, category, phase, time, process, thread)
                event["args"] = {"size": tensor.size_bytes, **_who(access)}
                events.append(event)
    return events


def _who(access: Access) -> Event:
    if access.node is None:
        return {"node_name": "UNDEFINED", "node_id": _BEFORE_ANY_NODE}
    return {"node_name": access.node.name, "node_id": access.node.id}


def _event(
    tensor: Tensor, category: str, phase: str, time_ns: int, process: int, thread: int
) -> Event:
    return {
        "name": tensor.name,
        "cat": category,
        "ph": phase,
        "ts": 1e-3 * time_ns,
        "pid": process,
        "tid": thread,
        "args": {"size": tensor.size_bytes},
    }


def _lifetimes(use: MemoryUse, process: int) -> list[Event]:
    events = []
    for thread, tensor in enumerate(use.tensors):
        begin = tensor.write.start_ns
        events.append(_event(tensor, "tensorLifetime", "B", begin, process, thread))
        if tensor.reads:
            end = tensor.reads[-1].end_ns
            events.append(_event(tensor, "tensorLifetime", "E", end, process, thread))
    return events


def _counter(use: MemoryUse, process: int) -> list[Event]:
    return [
        {
            "name": "GPU Memory Usage (MB)",
            "cat": "GPU Memory",
            "ph": "C",
            "ts": 1e-3 * time,
            "pid": process,
            "args": {"Memory_MB": used / _MIB},
        }
        for time, used in use.timeline
    ]


def _heat_map(use: MemoryUse, process: int) -> list[Event]:
    last = use.timeline[-1][0] if use.timeline else 0
    lives = [
        (tensor, tensor.write.start_ns, tensor.reads[-1].end_ns if tensor.reads else last)
        for tensor in use.tensors
    ]
    lives.sort(key=lambda life: life[1] - life[2])
    events: list[Event] = [
        {
            "name": "process_name",
            "ph": "M",
            "pid": process,
            "args": {"name": "Tensors, longest life first"},
        }
    ]
    for place, (tensor, begin, end) in enumerate(lives):
        event = _event(tensor, "tensorHeatmap", "X", begin, process, place)
        event["dur"] = 1e-3 * (end - begin)
        events.append(event)
    return events
