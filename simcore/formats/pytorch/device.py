"""Reads Kineto traces (Chrome JSON): CPU operators, kernel launches, kernels, synchronisations."""

from dataclasses import dataclass
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import MAX_PROFILE_BYTES
from simcore.files.json_file import read_json
from simcore.formats.pytorch.host import MAX_INT, MAX_US, Entry

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
_SYNC = "cuda_sync"
_CATEGORIES = (*_CPU_CATEGORIES, *_RUNTIME_CATEGORIES, *_GPU_CATEGORIES, _SYNC)
ALL_STREAMS = -1
UNKNOWN = -1


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
        collective: What such a kernel does, where the trace names it.
    """

    name: str
    category: str
    thread: int | str | None
    ts: float
    dur: float
    external_id: int
    record_id: int
    correlation: int
    stream: int
    group: str
    collective: str = ""

    @property
    def end(self) -> float:
        return self.ts + self.dur


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTrace:
    """A device trace; every list by ascending start.

    Attributes:
        steps: Steps of the profiler, as the host saw them.
        rank, world_size: Of the process, where the trace tells them.
    """

    cpu: tuple[Event, ...]
    launches: tuple[Event, ...]
    gpu: tuple[Event, ...]
    syncs: tuple[Event, ...]
    steps: tuple[Event, ...] = ()
    rank: int | None = None
    world_size: int | None = None


def read_device_trace(path: Path) -> DeviceTrace:
    """Reads a Kineto trace.

    Raises:
        ConfigError: The file is none, or two launches have one correlation id.
    """
    data = read_json(path, MAX_PROFILE_BYTES)
    entries = data.get("traceEvents") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise ConfigError(str(path), "must be a Chrome trace with traceEvents", got="none")
    events = [
        _event(Entry(entry, f"{path} traceEvents[{at}]"))
        for at, entry in enumerate(entries)
        if _is_used(entry)
    ]
    events.sort(key=lambda event: event.ts)
    launches = tuple(e for e in events if e.category in _RUNTIME_CATEGORIES and e.name in LAUNCHES)
    seen: set[int] = set()
    for launch in launches:
        if launch.correlation in seen:
            rule = "each kernel launch needs a correlation id of its own"
            raise ConfigError(str(path), rule, got=launch.correlation)
        seen.add(launch.correlation)
    on_host = [e for e in events if e.category in _CPU_CATEGORIES]
    place = Entry(data, str(path)).inner("distributedInfo")
    rank, world_size = (place.whole(key, UNKNOWN, least=UNKNOWN) for key in ("rank", "world_size"))
    return DeviceTrace(
        cpu=tuple(e for e in on_host if "ProfilerStep" not in e.name),
        launches=launches,
        gpu=tuple(e for e in events if e.category in _GPU_CATEGORIES),
        syncs=tuple(e for e in events if e.category == _SYNC and "Wait" not in e.name),
        steps=tuple(e for e in on_host if e.name.startswith("ProfilerStep#")),
        rank=None if rank == UNKNOWN else rank,
        world_size=None if world_size == UNKNOWN else world_size,
    )


def _is_used(entry: object) -> bool:
    complete = isinstance(entry, dict) and entry.get("ph") == "X" and "ts" in entry
    return complete and entry.get("cat") in _CATEGORIES  # type: ignore[attr-defined]


def _event(entry: Entry) -> Event:
    values = entry.inner("args")
    thread = entry.data.get("tid")
    if not isinstance(thread, int | str | None):
        raise entry.error("tid", "must be a number or a text")
    return Event(
        name=entry.text("name"),
        category=entry.text("cat"),
        thread=thread,
        ts=entry.time_us("ts", least=-MAX_US),
        dur=entry.time_us("dur"),
        external_id=values.whole("External id", 0, least=-MAX_INT),
        record_id=values.whole("Record function id", 0, least=-MAX_INT),
        correlation=values.whole("correlation", 0, least=-MAX_INT),
        stream=values.whole("stream", 0, least=ALL_STREAMS),
        group=values.text("Process Group Name"),
        collective=values.text("Collective name"),
    )
