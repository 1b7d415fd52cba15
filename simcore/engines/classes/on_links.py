"""Stages that meet on links: node by node, with their messages followed link by link.

One NPU stands for its stage, a collective within a stage takes the time that it has while nothing
else uses its links, and messages between stages wait for each other (or share links), one for all
of their pair of stages. What else may have met is looked for when all is over: where a collective
used a link at a time at which another stage's collective did, or a message, there is no answer.
"""

from collections.abc import Iterator

import numpy as np

from simcore.engines.classes.places import AlikePlaces
from simcore.engines.classes.run import EndsOfCollectives, Execution, Executor, Ran
from simcore.engines.classes.sends import Sends
from simcore.engines.classes.shared_on_links import SharedOnLinks
from simcore.engines.classes.tables import ClassTables
from simcore.engines.events.input import Ints
from simcore.engines.in_step.carried import carried_messages
from simcore.engines.in_step.stage_links import Activity, StageLinks
from simcore.engines.in_step.ways import Pair
from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.engines.stages.lowering import Lowered, lower
from simcore.kernels.classes import layout as f
from simcore.kernels.npu import layout as n
from simcore.terms import NodeKind
from simcore.workload.graph import TrainingGraph

_MESSAGES = "messages"


def run_on_links(graph: TrainingGraph, times: ProgramTimes, machine: MachineTimes) -> Ran | None:
    """Run every node of *graph*; None where stages met in another way than by their messages.

    Raises:
        SimulationError: The stages wait for each other for ever.
    """
    links, dimensions, placements = times.stage_links, machine.platform.dimensions, times.placements
    assert links is not None
    assert links.ways is not None
    ways, rule, chunks = links.ways, links.rule, machine.system.chunks
    lowered = lower(graph, dimensions, times.operator_ns, times.collectives, times.transfer_ns)
    between = SharedOnLinks(machine, rule, graph.collectives, graph.plan.stage_stride)
    ends = EndsOfCollectives(within=machine.member_ends, between=between, placements=placements)
    executor = Executor(
        graph,
        lowered,
        ClassTables(graph, lowered, times.collectives, placements, chunks, in_step=True),
        AlikePlaces(graph.plan, dimensions, placements, {}),
        ends,
    )
    sends = Sends(_sent(graph, lowered), lambda: carried_messages(ways, rule))
    ran = executor.run(machine.system.profile, sends=sends)
    shared = None if sends.tied(_ends(lowered, ran)) else between.activities(links)
    if shared is None:
        return None
    if not links.kept_apart([*shared, *_within_stages(graph, lowered, ran, times, links)]):
        return None
    return Ran.of_nodes(graph, lowered, ran)


def _sent(graph: TrainingGraph, lowered: Lowered) -> dict[int, tuple[Pair, int]]:
    """Stages and bytes of each message, by the position of its send."""
    found = {}
    for stage, first in zip(graph.stages, lowered.stage_start.tolist(), strict=False):
        sends = np.flatnonzero(stage.kind == NodeKind.SEND)
        peers, sizes = stage.peer_stage[sends].tolist(), stage.size_bytes[sends].tolist()
        for at, peer, size in zip(sends.tolist(), peers, sizes, strict=True):
            found[first + at] = (stage.stage, peer), size
    return found


def _ends(lowered: Lowered, ran: Execution) -> Ints:
    """(E, 3) int64: stage, end, and when that was scheduled, of each node but messages."""
    node = lowered.node
    own = np.flatnonzero((node[:, n.KIND] != n.SEND) & (node[:, n.KIND] != n.RECV))
    lead, end = node[own, n.LAST_STEP], ran.end_ns[own]
    scheduled = np.where(lead < 0, ran.start_ns[own], end - lead)
    return np.column_stack([node[own, f.STAGE], end, scheduled])


def _within_stages(
    graph: TrainingGraph, lowered: Lowered, ran: Execution, times: ProgramTimes, links: StageLinks
) -> Iterator[Activity]:
    """Activities of messages between stages, and of collectives within them."""
    kinds = lowered.node[:, n.KIND]
    for stage, first in zip(graph.stages, lowered.stage_start.tolist(), strict=False):
        own = kinds[first : first + stage.nodes]
        start, end = (at[first : first + stage.nodes] for at in (ran.start_ns, ran.end_ns))
        sends = np.flatnonzero(own == n.SEND)
        for peer in np.unique(stage.peer_stage[sends]).tolist():
            at = sends[stage.peer_stage[sends] == peer]
            used = links.of_pair((stage.stage, peer))
            yield Activity(links=used, begin_ns=start[at], end_ns=end[at], group=_MESSAGES)
        joins = np.flatnonzero(own == n.COMMUNICATION)
        for item in np.unique(stage.item[joins]).tolist():
            at = joins[stage.item[joins] == item]
            operation = graph.collectives[item]
            by_stage = links.of_collective(operation.kind, times.placements[operation.axis])
            yield Activity(links=by_stage[stage.stage], begin_ns=start[at], end_ns=end[at])
