"""Stages that meet on links: node by node, with their messages followed link by link.

One NPU stands for its stage, a collective within a stage takes the time that it has while nothing
else uses its links, and messages between stages wait for each other (or share links), one for all
of their pair of stages. What else may have met is looked for when all is over: where a collective
used a link at a time at which another stage's collective did, or a message, there is no answer.
"""

from collections.abc import Iterator

import numpy as np

from simcore.engines.classes.period import Repeats
from simcore.engines.classes.places import AlikePlaces
from simcore.engines.classes.run import EndsOfCollectives, Execution, Executor
from simcore.engines.classes.sends import QueuedSends, Sends, Sent
from simcore.engines.classes.shared_on_links import SharedOnLinks
from simcore.engines.classes.tables import ClassTables
from simcore.engines.in_step.stage_links import Activity, StageLinks
from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.engines.stages.lowering import Lowered, lower
from simcore.kernels.classes import layout as f
from simcore.kernels.npu import layout as n
from simcore.network.base import LinkRule
from simcore.workload.graph import TrainingGraph

_MESSAGES = "messages"


def run_on_links(
    graph: TrainingGraph,
    times: ProgramTimes,
    machine: MachineTimes,
    repeats: Repeats | None = None,
) -> tuple[Lowered, Execution] | None:
    """Run every node of *graph*; None where stages met in another way than by their messages.

    Args:
        graph: The iteration.
        times: Its times.
        machine: What it runs on.
        repeats: Where its programs repeat themselves; None: no steady state is looked for.

    Raises:
        SimulationError: The stages wait for each other for ever.
    """
    links, dimensions, placements = times.stage_links, machine.platform.dimensions, times.placements
    assert links is not None
    assert links.ways is not None
    rule, chunks = links.rule, machine.system.chunks
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
    sends = _sends(rule)(Sent.of(graph, lowered), links.ways)
    ran = executor.run(machine.system.profile, repeats, sends)
    shared = None if _tied(sends, lowered, ran) else between.activities(links)
    if shared is None:
        return None
    if not links.kept_apart([*shared, *_within_stages(graph, lowered, ran, times, links)]):
        return None
    return lowered, ran


def _sends(rule: LinkRule) -> type[Sends]:
    if rule is LinkRule.QUEUED:
        return QueuedSends
    from simcore.engines.classes.fair_sends import FairSends  # few runs need its kernel

    return FairSends


def _tied(sends: Sends, lowered: Lowered, ran: Execution) -> bool:
    """True if the order of an arrival and another event mattered that is not known."""
    arrivals, node = sends.arrivals(), lowered.node
    times = np.unique(arrivals[:, 1])
    next_of = np.minimum(np.searchsorted(times, ran.end_ns), len(times) - 1)
    at = np.flatnonzero(times[next_of] == ran.end_ns)
    own = at[(node[at, n.KIND] != n.SEND) & (node[at, n.KIND] != n.RECV)]
    lead, end = node[own, n.LAST_STEP], ran.end_ns[own]
    scheduled = np.where(lead < 0, ran.start_ns[own], end - lead)
    return sends.tied(arrivals, np.column_stack([node[own, f.STAGE], end, scheduled]))


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
