"""Reads Kineto traces (Chrome JSON): CPU operators, kernel launches, kernels, synchronisations."""

from dataclasses import dataclass
from pathlib import Path

from simcore.errors import ConfigError
from simcore.formats.pytorch.host import read_json_file

LAUNCHES = frozenset(
    {
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cudaMemcpy",
        "cudaMemcpyAsync",
        "cudaMemcpyFromSymbol",
        "cudaMemcpyToSymbol",
        "cudaMemsetAsync",
        "cudaLaunchCooperativeKernel",
        "hipLaunchKernel",
        "hipExtLaunchKernel",
        "hipExtModuleLaunchKernel",
        "hipModuleLaunchKernel",
        "hipMemcpyWithStream",
        "hipMemcpyAsync",
    }
)
_CPU_CATEGORIES = ("cpu_op", "user_annotation")
_RUNTIME_CATEGORIES = ("cuda_runtime", "cuda_driver")
_GPU_CATEGORIES = ("kernel", "gpu_memcpy")
ALL_STREAMS = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One complete event; times in microseconds.

    Attributes:
        name: Name.
        category: Kineto's category.
        thread: Thread of a CPU event, stream of a kernel.
        ts: Start.
        dur: Duration.
        external_id: What links a launch and its operator; 0: none.
        record_id: Record function id of a CPU operator; 0: none.
        correlation: What links launch, kernel and synchronisation; 0: none.
        stream: Of a kernel or a stream synchronisation; -1: all.
        group: Process group of a communication kernel, or empty.
    """

    name: str
    category: str
    thread: object
    ts: float
    dur: float
    external_id: int
    record_id: int
    correlation: int
    stream: int
    group: str

    @property
    def end(self) -> float:
        return self.ts + self.dur


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTrace:
    """A device trace; every list by ascending start."""

    cpu: tuple[Event, ...]
    launches: tuple[Event, ...]
    gpu: tuple[Event, ...]
    syncs: tuple[Event, ...]


def read_device_trace(path: Path) -> DeviceTrace:
    """Reads a Kineto trace.

    Raises:
        ConfigError: The file is none, or two launches have one correlation id.
    """
    data = read_json_file(path)
    entries = data.get("traceEvents") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise ConfigError(str(path), "must be a Chrome trace with traceEvents", got="none")
    events = [_event(entry) for entry in entries if _is_complete(entry)]
    events.sort(key=lambda event: event.ts)
    launches = tuple(e for e in events if e.category in _RUNTIME_CATEGORIES and e.name in LAUNCHES)
    seen: set[int] = set()
    for launch in launches:
        if launch.correlation in seen:
            rule = "each kernel launch needs a correlation id of its own"
            raise ConfigError(str(path), rule, got=launch.correlation)
        seen.add(launch.correlation)
    return DeviceTrace(
        cpu=tuple(
            e for e in events if e.category in _CPU_CATEGORIES and "ProfilerStep" not in e.name
        ),
        launches=launches,
        gpu=tuple(e for e in events if e.category in _GPU_CATEGORIES),
        syncs=tuple(e for e in events if e.category == "cuda_sync" and "Wait" not in e.name),
    )


def _is_complete(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("ph") == "X" and "ts" in entry


def _event(entry: dict[str, object]) -> Event:
    args = entry.get("args")
    values = args if isinstance(args, dict) else {}

    def number(key: str) -> int:
        value = values.get(key, 0)
        return int(value) if isinstance(value, (int, float)) else 0

    return Event(
        name=str(entry.get("name", "")),
        category=str(entry.get("cat", "")),
        thread=entry.get("tid"),
        ts=_time(entry.get("ts")),
        dur=_time(entry.get("dur")),
        external_id=number("External id"),
        record_id=number("Record function id"),
        correlation=number("correlation"),
        stream=number("stream"),
        group=str(values.get("Process Group Name", "")),
    )


def _time(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
