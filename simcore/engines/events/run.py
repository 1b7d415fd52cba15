"""The unfolded simulation: every NPU and every message, event by event.

Source: W. Won et al., "ASTRA-sim2.0: Modeling Hierarchical Networks and Disaggregated Systems for
Large-model Training at Scale", ISPASS 2023; the rules are those of its analytical simulator.
Where that program aborts or hangs, this one goes on or says what is wrong:

* a deadlock ends the run; the NPUs that never finished are named with what they wait for;
* an all-gather of fewer bytes than chunks is cut into one-byte chunks (of 0 bytes: into one);
* a collective without partners (a group of one, no dimension involved) ends at once;
* a custom collective is one stream, whatever the number of chunks;
* delays of 0 ns are legal at time 0, messages of 0 bytes take their latency.

Beyond that program: groups that are sub-grids of the machine (their chunks hold at least one byte
per member), NPUs that start late, networks outside the kernel, and tags that never meet, however
many collectives run.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from simcore.engines.events.checks import check_inputs, place
from simcore.engines.events.engine_run import EngineRun
from simcore.engines.events.fold.relations import CannotFoldError
from simcore.engines.events.input import EngineInput, EngineOutput, Representatives, all_npus
from simcore.engines.events.outside import HeldNetwork, outside_network
from simcore.engines.events.programs import Program
from simcore.engines.events.writer import TAG_RANGE
from simcore.errors import SimulationError
from simcore.kernels.events import layout
from simcore.kernels.events.layout import Ints
from simcore.terms import CollectiveKind, NodeKind


def run_unfolded(inputs: EngineInput) -> EngineOutput:
    """Simulate every NPU of a machine until nothing is left to happen.

    Args:
        inputs: The run.

    Returns:
        Finish times in ns; NPUs that wait for ever finish at -1 and are explained in ``waiting``.

    Raises:
        ConfigError: The input breaks a rule.
        SimulationError: The run never comes to an end within the range of time, or a network from
            outside does not do what it must.
    """
    check_inputs(inputs)
    return run_representatives(inputs, all_npus(inputs))


def run_representatives(inputs: EngineInput, simulated: Representatives) -> EngineOutput:
    """Simulate the representatives; the arguments have been checked.

    Raises:
        CannotFoldError: NPUs that stand for others meet what these might meet in another order.
        SimulationError: See ``run_unfolded``.
    """
    run = EngineRun(inputs, simulated)
    network = outside_network(inputs)
    code = run.go_on(layout.LAST_NS) if network is None else _run_with(run, network)
    arena = run.arena
    run.check_order()
    if code == layout.AT_HORIZON:
        raise SimulationError(
            f"The run lasts longer than {layout.LAST_NS} ns (73 years): "
            "look for a size, delay or bandwidth that is wrong by orders of magnitude."
        )
    return output_of(arena, inputs, simulated)


def _run_with(run: EngineRun, network: HeldNetwork) -> int:
    """Alternate between the kernel and a network outside it, whoever has the earlier event."""
    while True:
        due_ns = network.next_event_ns()
        code = run.go_on(layout.LAST_NS if due_ns is None else due_ns - 1)
        run.check_order()
        if code == layout.OUTBOX_FILLED:
            for _ in run.hand_out(network):
                pass
        elif due_ns is None:
            return code
        else:
            arrivals = network.advance(due_ns, min(run.next_ns, layout.LAST_NS))
            for at, arrival in enumerate(arrivals):
                run.take(arrival.time_ns, arrival.message, at)


def output_of(arena: Ints, inputs: EngineInput, simulated: Representatives) -> EngineOutput:
    """Outcome of a run that has nothing left to do, out of its arena."""
    npus = simulated.npus.size
    stride = int(arena[layout.NPU_STRIDE])
    at = int(arena[layout.NPU_TABLE])
    table = arena[at + np.arange(npus)[:, None] * stride + np.arange(layout.NPU_WORDS)]
    finish_ns = table[:, layout.NPU_FINISH_NS].copy()
    starts, ends = (
        _recorded(arena, table[:, column], simulated) if inputs.record_nodes else ()
        for column in (layout.NPU_START, layout.NPU_END)
    )
    accounts = table[:, layout.NPU_ACCOUNTS :].reshape(npus, layout.ACCOUNTS, layout.ACCOUNT_WORDS)
    busy_ns = accounts[:, : layout.ACCOUNT_NONE, layout.ACCOUNT_BUSY_NS].copy()
    last_end_ns = table[:, layout.NPU_LAST_END_NS].copy()
    received = int(arena[layout.RECEIVED_MESSAGES]), int(arena[layout.RECEIVED_BYTES])
    if simulated.folded:
        if arena[layout.MATCH_COUNT] or (finish_ns < 0).any():
            raise CannotFoldError("NPUs wait for ever, or messages are never received")
        received = int(arena[layout.SENT_MESSAGES]), int(arena[layout.SENT_BYTES])
        finish_ns = finish_ns[simulated.class_of_npu]
        busy_ns, last_end_ns = busy_ns[simulated.class_of_npu], last_end_ns[simulated.class_of_npu]
    return EngineOutput(
        finish_ns=finish_ns,
        node_start_ns=starts,
        node_end_ns=ends,
        busy_ns=busy_ns,
        last_end_ns=last_end_ns,
        messages=int(arena[layout.SENT_MESSAGES]),
        received_messages=received[0],
        sent_bytes=int(arena[layout.SENT_BYTES]),
        received_bytes=received[1],
        events=int(arena[layout.EVENTS]),
        empty_messages=bool(arena[layout.EMPTY_MESSAGES]),
        waiting=() if simulated.folded else waiting_sentences(arena, table, inputs),
        class_of_npu=simulated.class_of_npu if simulated.folded else None,
    )


def _recorded(arena: Ints, first: Ints, simulated: Representatives) -> tuple[Ints, ...]:
    """Times of the nodes of each NPU of the machine; *first*: where its representative's lie."""
    nodes = simulated.programs.sizes[simulated.program_of]
    spans = zip(first.tolist(), nodes.tolist(), strict=True)
    times = [arena[at : at + count].copy() for at, count in spans]
    return tuple([times[which] for which in simulated.class_of_npu.tolist()])


_SHOWN = 4


@dataclass(slots=True)
class Unmatched:
    """Messages that the network still held at the end.

    Attributes:
        awaited_from: Per NPU id, senders of messages that never came.
        unclaimed: Per (sender, receiver), (tag, bytes) of messages that nobody received.
    """

    awaited_from: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    unclaimed: dict[tuple[int, int], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )


def waiting_sentences(arena: Ints, table: Ints, inputs: EngineInput) -> tuple[str, ...]:
    """One sentence for each NPU that has not finished.

    Args:
        arena: After the run.
        table: (N, fields) int64, the NPUs in it.
        inputs: The run.
    """
    unfinished = np.flatnonzero(table[:, layout.NPU_FINISH_NS] < 0).tolist()
    if not unfinished:
        return ()
    unmatched = _unmatched(arena)
    sentences = []
    for npu in unfinished:
        program = inputs.table[int(inputs.program_of_npu[npu])]
        first = int(table[npu, layout.NPU_STATE])
        state = arena[first : first + program.kind.size]
        sentences.append(_sentence(npu, program, state, unmatched))
    return tuple(sentences)


def _unmatched(arena: Ints) -> Unmatched:
    found = Unmatched()
    first, slots = int(arena[layout.MATCHES]), int(arena[layout.MATCH_CAPACITY])
    for head in arena[first : first + slots][arena[first : first + slots] != 0].tolist():
        match = head
        while match:
            src, dst = int(arena[match + layout.MATCH_SRC]), int(arena[match + layout.MATCH_DST])
            if arena[match + layout.MATCH_ARRIVED]:
                size = int(arena[match + layout.MATCH_BYTES])
                if size == layout.ANY_SIZE:
                    size = int(arena[match + layout.MATCH_ARRIVED])
                key = int(arena[match + layout.MATCH_TAG]), size
                found.unclaimed[src, dst].append(key)
            else:
                found.awaited_from[dst].add(src)
            match = int(arena[match + layout.MATCH_CHAIN])
    return found


def _sentence(npu: int, program: Program, state: Ints, unmatched: Unmatched) -> str:
    issued = np.flatnonzero(state == layout.NODE_ISSUED)
    if issued.size == 0:
        free = np.flatnonzero(state == layout.NODE_READY)
        if free.size == 0:
            return f"NPU {npu} never started."
        node = place(program, int(free[0]), f"NPU {npu}")
        return f"{node} waits for another node to end, but none is running."
    position = int(issued[0])
    node = place(program, position, f"NPU {npu}")
    more = f" ({issued.size - 1} more nodes wait as well)" if issued.size > 1 else ""
    return f"{node} waits for {_awaited(npu, program, position, unmatched)}{more}."


def _awaited(npu: int, program: Program, position: int, unmatched: Unmatched) -> str:
    kind = program.kind[position]
    size, peer = int(program.size_bytes[position]), int(program.peer[position])
    tag, group = int(program.tag[position]), int(program.group[position])
    if kind == NodeKind.RECV:
        came = [
            f"{came_bytes} bytes with tag {came_tag}"
            for came_tag, came_bytes in sorted(unmatched.unclaimed[peer, npu])
            if came_tag < TAG_RANGE
        ]
        instead = f"; it sent {', '.join(came[:_SHOWN])} instead" if came else ""
        return f"{size} bytes with tag {tag} from NPU {peer}, which never sent them{instead}"
    if kind == NodeKind.SEND:
        return f"NPU {peer} to take {size} bytes with tag {tag}"
    name = CollectiveKind(int(program.comm_kind[position])).name.lower()
    members = f"group {group}" if group else "all NPUs"
    silent = sorted(unmatched.awaited_from[npu])
    from_whom = f": nothing comes from NPU {', '.join(map(str, silent[:_SHOWN]))}" if silent else ""
    return f"its {name} of {size} bytes among {members}{from_whom}"
