"""ASTRA-sim's analytical simulator once more, slow and plain: lists, dictionaries and closures.

Written from the description of the simulator alone, rule by rule, to be held against the engine.
It leaves out double binary trees, the shared bus and custom collectives.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from math import prod

from plain_network import Call, Clock, Network
from plain_steps import ALL_REDUCE, GATHER, SCATTER, Phase, Steps, Stream

from simcore.engines.events.input import EngineInput, ListGroup
from simcore.engines.events.programs import LASTS, Program
from simcore.formats.astra.collective_names import name_of
from simcore.terms import CollectiveKind, NodeKind


@dataclass
class Queue:
    streams: list[Stream] = field(default_factory=list)
    running: int = 0


class Npu:
    """Feeder, collectives and queues of one NPU."""

    def __init__(self, run: "PlainRun", number: int, program: Program) -> None:
        self.run, self.id, self.program = run, number, program
        self.inputs, self.clock, self.network = run.inputs, run.clock, run.network
        count = program.kind.size
        starts = program.dep_start.tolist()
        self.waits = [set(program.dep[starts[t] : starts[t + 1]].tolist()) for t in range(count)]
        self.start, self.end = [-1] * count, [-1] * count
        self.finish = -1
        options = self.inputs.options
        self.limit = {"cpu": 1, "compute": options.compute_slots}
        self.limit["comm"] = options.communication_streams
        self.busy: dict[str, int] = defaultdict(int)
        self.streams_made: dict[int, int] = defaultdict(int)
        self.collectives = 0
        self.rounds: dict[tuple[int, str], int] = defaultdict(int)
        self.queues: dict[int, Queue] = defaultdict(Queue)

    def later(self, delay: int, call: Call) -> None:
        self.clock.later(self.id, delay, call)

    # feeder

    def slot(self, t: int) -> str:
        if self.program.on_cpu[t]:
            return "cpu"
        kind = self.program.kind[t]
        return {NodeKind.COMPUTE: "compute", NodeKind.RECV: "none"}.get(kind, "comm")

    def walk(self) -> None:
        free = [t for t, w in enumerate(self.waits) if not w and self.start[t] < 0]
        for t in free:
            slot = self.slot(t)
            if slot == "none" or self.busy[slot] < self.limit[slot]:
                self.busy[slot] += 1
                self.start[t] = self.clock.now
                if self.program.skipped[t]:
                    self.done(t)
                else:
                    self.issue(t)
        waiting = any(not w and self.start[t] < 0 for t, w in enumerate(self.waits))
        if not waiting and self.finish < 0 and not any(self.busy.values()):
            self.finish = self.clock.now

    def done(self, t: int) -> None:
        self.end[t] = self.clock.now
        self.busy[self.slot(t)] -= 1
        for waits in self.waits:
            waits.discard(t)

    def ended(self, t: int) -> None:
        self.done(t)
        self.walk()

    def issue(self, t: int) -> None:
        p, kind = self.program, self.program.kind[t]
        size, peer, tag = int(p.size_bytes[t]), int(p.peer[t]), ("p2p", int(p.tag[t]))
        if kind == NodeKind.SEND:
            self.network.send(tag, self.id, peer, size, lambda: self.ended(t))
        elif kind == NodeKind.RECV and peer >= 0:
            self.network.receive(tag, peer, self.id, size, lambda: self.ended(t))
        elif kind == NodeKind.COLLECTIVE and p.comm_kind[t] != LASTS:
            self.collective(t)
        elif kind in (NodeKind.MEM_LOAD, NodeKind.MEM_STORE):
            self.run.memory(self, t, size)
        else:
            self.later(int(p.duration_ns[t]), lambda: self.ended(t))

    # collectives

    def collective(self, t: int) -> None:
        p, options = self.program, self.inputs.options
        kind, key = CollectiveKind(int(p.comm_kind[t])), int(p.group[t])
        size, npus = int(p.size_bytes[t]), len(self.run.npus)
        chunk = size // options.chunks
        if kind is not GATHER and chunk < npus:
            chunk, size = npus, options.chunks * npus
        chunk = max(chunk, 1)  # ASTRA-sim never ends here
        streams = -(-size // chunk)
        priority = int(p.priority[t])
        if options.scheduling != "explicit":
            priority = self.collectives if options.scheduling == "lifo" else -self.collectives
            self.collectives += 1
        left = [streams]

        def ended() -> None:
            left[0] -= 1
            if not left[0]:
                self.ended(t)

        for _ in range(streams):
            phases = self.phases(kind, key, int(p.involved_dims[t]))
            tag = (key, self.streams_made[key])
            self.streams_made[key] += 1
            self.enter(Stream(tag, chunk, priority, phases, ended))

    def logical(self, kind: CollectiveKind, key: int) -> list[tuple[str, list[int], bool]]:
        """Algorithm, members in order and whether they are a list, per logical dimension."""
        names = [name_of(chosen) for chosen in self.inputs.options.algorithms[int(kind)]]
        group = self.inputs.groups.get(key)
        everyone = len(self.run.npus)
        if isinstance(group, ListGroup) and group.members.size != everyone:
            name = names[0] if len(names) == 1 else "ring"
            plain = name.removeprefix("one")
            return [(plain[0].lower() + plain[1:], group.members.tolist(), True)]
        found, below = [], 1
        for name, dimension in zip(names, self.inputs.dimensions, strict=False):
            if name.startswith("one"):
                plain = name.removeprefix("one")
                found.append((plain[0].lower() + plain[1:], list(range(everyone)), False))
                break
            first = self.id - self.id // below % dimension.npus * below
            found.append((name, [first + i * below for i in range(dimension.npus)], False))
            below *= dimension.npus
        return found

    def phases(self, kind: CollectiveKind, key: int, involved: int) -> list[Phase]:
        logical = self.logical(kind, key)
        used = [
            d
            for d, (_, members, _) in enumerate(logical)
            if len(members) > 1 and (key or involved >> d & 1)
        ]
        if kind is GATHER:
            used.reverse()
        if kind is not ALL_REDUCE or not self.inputs.options.local_bw_aware:
            return [self.phase(kind, d, logical[d], "plain") for d in used]
        phases = [self.phase(SCATTER, d, logical[d], "first") for d in used[:-1]]
        phases.append(self.phase(ALL_REDUCE, used[-1], logical[used[-1]], "first"))
        return phases + [self.phase(GATHER, d, logical[d], "last") for d in reversed(used[:-1])]

    def phase(
        self, kind: CollectiveKind, d: int, over: tuple[str, list[int], bool], turn: str
    ) -> Phase:
        queues = self.inputs.options.queues_per_dimension
        choices = list(range(queues))
        if turn == "first":
            choices = choices[: max(queues // 2, 1)]
        elif turn == "last":
            choices = choices[queues // 2 :]
        chosen = choices[self.rounds[d, turn] % len(choices)]
        self.rounds[d, turn] += 1
        upper = turn == "plain" and queues > 1 and chosen >= queues // 2
        name, members, local = over
        return Phase(kind, name, members, local, d * queues + chosen, turn == "last" or upper)

    def enter(self, stream: Stream) -> None:
        self.insert(stream)
        self.start_waiting(self.queues[stream.phases[0].queue])

    def insert(self, stream: Stream) -> None:
        streams = self.queues[stream.phases[0].queue].streams
        at = 0
        while at < len(streams) and streams[at].started:
            at += 1
        while at < len(streams) and streams[at].priority >= stream.priority:
            at += 1
        streams.insert(at, stream)

    def start_waiting(self, queue: Queue) -> None:
        options = self.inputs.options
        most = -(-options.active_chunks_per_dimension // options.queues_per_dimension)
        while queue.running < most and queue.running < len(queue.streams):
            stream = queue.streams[queue.running]
            queue.running += 1
            stream.started = True
            Steps(self, stream, stream.phases[0], lambda s=stream: self.phase_over(s))  # type: ignore[misc]

    def phase_over(self, stream: Stream) -> None:
        phase = stream.phases[0]
        old, n = self.queues[phase.queue], len(phase.members)
        if len(stream.phases) == 1:
            stream.ended()
        old.streams.remove(stream)
        if phase.kind is GATHER:
            stream.size *= n
        elif phase.kind is SCATTER:
            stream.size //= n
        del stream.phases[0]
        stream.started = False
        if stream.phases:
            self.insert(stream)
        old.running -= 1
        self.start_waiting(old)
        if stream.phases:
            self.start_waiting(self.queues[stream.phases[0].queue])


class PlainRun:
    """All NPUs, their network and their memory."""

    def __init__(self, inputs: EngineInput) -> None:
        self.inputs, self.clock = inputs, Clock()
        self.network = Network(self.clock, inputs)
        self.lines: dict[int, deque[tuple[Npu, int, int]]] = defaultdict(deque)
        self.serving: set[int] = set()
        self.npus: list[Npu] = [None] * prod(d.npus for d in inputs.dimensions)  # type: ignore[list-item]
        for number, program in enumerate(inputs.program_of_npu.tolist()):
            self.npus[number] = Npu(self, number, inputs.programs[program])
        for npu in self.npus:
            npu.walk()
        self.clock.run()

    def memory(self, npu: Npu, t: int, size: int) -> None:
        memory = self.inputs.remote_memory
        time = memory.latency_ns + (size // memory.bytes_per_ns if memory.bytes_per_ns else 0)
        if memory.kind == "per_npu":
            npu.later(time, lambda: npu.ended(t))
            return
        server = npu.id // memory.npus_per_node if memory.kind == "per_node" else 0
        self.lines[server].append((npu, t, time))
        if server not in self.serving:
            self.serving.add(server)
            self.serve(server)

    def serve(self, server: int) -> None:
        if not self.lines[server]:
            self.serving.discard(server)
            return
        npu, t, time = self.lines[server].popleft()
        npu.later(time, lambda: npu.ended(t))
        npu.later(time, lambda: self.serve(server))
