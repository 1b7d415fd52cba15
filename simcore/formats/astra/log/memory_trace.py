"""Writes memory use as a Chrome trace: accesses, lifetimes, a counter and a heat map."""

import json
from pathlib import Path

from simcore.formats.astra.log.memory_use import Access, MemoryUse, Tensor

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
