"""Links a host trace with a device trace: times for operators, and their kernels beside them."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from simcore.errors import ConfigError
from simcore.formats.pytorch.device import ALL_STREAMS, DeviceTrace, Event
from simcore.formats.pytorch.host import HostNode, HostTrace

LONGEST_PAUSE_US = 1000.0
"""A thread that pauses longer is taken to have waited for another thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedNode:
    """An operator or kernel with what was measured of it; times in microseconds.

    Attributes:
        node: The operator; a kernel has the inputs, outputs and attributes of its operator, and
            its id as caller.
        inclusive_us: With all it called; None: not measured.
        exclusive_us: Without.
        start_us: Start; None: not measured.
        after_other_thread: Id of the operator of another thread that came before, or None.
        after_kernels: Ids of the kernels that the host waited for before it.
        kernel: The kernel's event, or None for an operator.
    """

    node: HostNode
    inclusive_us: float | None = None
    exclusive_us: float | None = None
    start_us: float | None = None
    after_other_thread: int | None = None
    after_kernels: tuple[int, ...] = ()
    kernel: Event | None = None


def link(host: HostTrace, device: DeviceTrace) -> tuple[LinkedNode, ...]:
    """Operators in the host's order, each followed by its kernels; ids dense from 0.

    Raises:
        ConfigError: Two operators claim the same kernels.
    """
    measured = {event.record_id: event for event in device.cpu if event.record_id}
    exclusive = _exclusive_times(device.cpu)
    earlier = _other_threads(device.cpu)
    kernels = _kernels_of(device)
    new_id: dict[int, int] = {}
    kernel_id: dict[int, int] = {}
    by_record: dict[int, int] = {}
    out: list[LinkedNode] = []
    for node in host.nodes:
        event = measured.get(node.record_id)
        number = new_id[node.id] = len(out)
        caller = new_id.get(node.caller, number)
        linked = LinkedNode(node=replace(node, id=number, caller=caller))
        if event is not None:
            other = by_record.get(earlier.get(id(event), 0))
            linked = replace(
                linked,
                inclusive_us=event.dur,
                exclusive_us=exclusive[id(event)],
                start_us=event.ts,
                after_other_thread=other,
            )
            if node.record_id in by_record and node.record_id in kernels:
                rule = "each operator that launches kernels needs an rf_id of its own"
                raise ConfigError(f"{host.path} nodes", rule, got=node.record_id)
            by_record[node.record_id] = number
        out.append(linked)
        for kernel in kernels.get(node.record_id, ()) if event is not None else ():
            kernel_id[id(kernel)] = len(out)
            out.append(_kernel_node(linked, kernel, len(out)))
    return _with_syncs(out, device, kernel_id)


def _kernel_node(operator: LinkedNode, kernel: Event, number: int) -> LinkedNode:
    node = replace(operator.node, id=number, name=kernel.name, caller=operator.node.id)
    return LinkedNode(
        node=node,
        inclusive_us=kernel.dur,
        exclusive_us=kernel.dur,
        start_us=kernel.ts,
        after_other_thread=operator.after_other_thread,
        kernel=kernel,
    )


def _by_thread(events: Iterable[Event]) -> Mapping[object, list[Event]]:
    threads: dict[object, list[Event]] = defaultdict(list)
    for event in events:
        threads[event.thread].append(event)
    return threads


@dataclass(slots=True)
class _Open:
    """An operator that is running in the sweep: what is inside it so far."""

    event: Event
    covered_us: float = 0.0
    covered_until: float = field(default=float("-inf"))

    def cover(self, inner: Event) -> None:
        begin = max(inner.ts, self.covered_until)
        self.covered_us += max(inner.end - begin, 0.0)
        self.covered_until = max(self.covered_until, inner.end)


def _exclusive_times(cpu: Sequence[Event]) -> dict[int, float]:
    """Per event (by identity), its duration less the union of what lies inside it."""
    exclusive: dict[int, float] = {}
    for events in _by_thread(cpu).values():
        running: list[_Open] = []
        for event in sorted(events, key=lambda item: (item.ts, -item.dur)):
            while running and running[-1].event.end < event.end:
                last = running.pop()
                exclusive[id(last.event)] = last.event.dur - last.covered_us
            if running:
                running[-1].cover(event)
            running.append(_Open(event))
        for last in running:
            exclusive[id(last.event)] = last.event.dur - last.covered_us
    return exclusive


def _other_threads(cpu: Sequence[Event]) -> dict[int, int]:
    """Per event (by identity), record id of the other thread's operator that came before.

    It is looked for where a thread starts or goes on after a pause, and then holds until the next
    pause.
    """
    found: dict[int, int] = {}
    starts = [event.ts for event in cpu]
    changes = _last_of_other_thread(cpu)
    for thread, events in _by_thread(cpu).items():
        until, record = float("-inf"), 0
        for event in events:
            if event.ts - until > LONGEST_PAUSE_US:
                position = bisect_left(starts, event.ts) - 1
                if position >= 0 and cpu[position].thread == thread:
                    position = changes[position]
                record = cpu[position].record_id if position >= 0 else 0
            until = max(until, event.end)
            found[id(event)] = record
    return found


def _last_of_other_thread(events: Sequence[Event]) -> list[int]:
    """Per event, the position of the last one before it of another thread; -1: there is none."""
    found: list[int] = []
    for at, event in enumerate(events):
        same = at > 0 and events[at - 1].thread == event.thread
        found.append(found[-1] if same else at - 1)
    return found


def _kernels_of(device: DeviceTrace) -> Mapping[int, list[Event]]:
    """Kernels of each operator, by its record id, in order of start."""
    threads = _by_thread(device.cpu)
    starts = {thread: [event.ts for event in events] for thread, events in threads.items()}
    launch_of = {launch.correlation: launch for launch in device.launches}
    named: dict[tuple[object, int], list[Event]] = defaultdict(list)
    for event in device.cpu:
        named[event.thread, event.external_id].append(event)
    kernels: dict[int, list[Event]] = defaultdict(list)
    for kernel in device.gpu:
        launch = launch_of.get(kernel.correlation)
        if launch is None:
            continue
        same = named.get((launch.thread, launch.external_id), [])
        before = bisect_right(same, launch.ts, key=lambda event: event.ts) - 1
        operator = same[before] if before >= 0 else None
        if operator is None and launch.thread in threads:
            last = bisect_right(starts[launch.thread], launch.ts) - 1
            operator = _nearest(threads[launch.thread], last, "nccl" in kernel.name.lower())
        if operator is not None and operator.record_id:
            kernels[operator.record_id].append(kernel)
    return kernels


def _nearest(events: Sequence[Event], last: int, communicates: bool) -> Event | None:
    while last >= 0 and communicates and events[last].name == "nccl:coalesced":
        last -= 1
    return events[last] if last >= 0 else None


class _Streams:
    """The linked kernels of each stream, by start."""

    def __init__(self, device: DeviceTrace, kernel_id: Mapping[int, int]) -> None:
        self.kernel_id = kernel_id
        self.launched = {launch.correlation: launch.ts for launch in device.launches}
        self.kernels: dict[int, list[Event]] = defaultdict(list)
        for kernel in device.gpu:
            if id(kernel) in kernel_id:
                self.kernels[kernel.stream].append(kernel)
        self.starts = {stream: [k.ts for k in found] for stream, found in self.kernels.items()}

    def awaited(self, sync: Event) -> set[int]:
        """Per stream that *sync* waits for, the id of the last kernel launched before it."""
        ids = set()
        for stream in self.kernels if sync.stream == ALL_STREAMS else (sync.stream,):
            kernels = self.kernels.get(stream, [])
            last = bisect_left(self.starts.get(stream, []), sync.end) - 1
            while last >= 0 and self.launched[kernels[last].correlation] > sync.ts:
                last -= 1
            if last >= 0:
                ids.add(self.kernel_id[id(kernels[last])])
        return ids


def _with_syncs(
    nodes: list[LinkedNode], device: DeviceTrace, kernel_id: Mapping[int, int]
) -> tuple[LinkedNode, ...]:
    """After each synchronisation, the next operator waits for the kernels that were awaited."""
    timed = sorted(
        (node.start_us, index)
        for index, node in enumerate(nodes)
        if node.kernel is None and node.start_us is not None
    )
    starts = [start for start, _ in timed]
    streams = _Streams(device, kernel_id)
    for sync in device.syncs:
        awaited = streams.awaited(sync)
        position = bisect_right(starts, sync.end)
        if awaited and position < len(timed):
            index = timed[position][1]
            more = tuple(sorted(awaited | set(nodes[index].after_kernels)))
            nodes[index] = replace(nodes[index], after_kernels=more)
    return tuple(nodes)
