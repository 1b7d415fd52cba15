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
    if not ran.is_whole:
        return lowered, ran
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
    kinds, stages = lowered.node[:, n.KIND], len(graph.stages)
    at = np.flatnonzero((kinds == n.SEND) | (kinds == n.COMMUNICATION))
    peers = np.concatenate([stage.peer_stage for stage in graph.stages])[at]
    items = np.concatenate([stage.item for stage in graph.stages])[at]
    # those of one stage are told apart by whom it sends to, and by collective
    many = stages + len(graph.collectives)
    what = np.where(kinds[at] == n.SEND, peers, stages + items) + many * lowered.node[at, f.STAGE]
    order = np.argsort(what, kind="stable")
    start, end = ran.start_ns[at[order]], ran.end_ns[at[order]]
    found, first = np.unique(what[order], return_index=True)
    for one, use in zip(found.tolist(), np.split(np.arange(len(order)), first[1:]), strict=True):
        stage, peer = divmod(one, many)
        if peer < stages:
            used, group = links.of_pair((stage, peer)), _MESSAGES
        else:
            operation = graph.collectives[peer - stages]
            by_stage = links.of_collective(operation.kind, times.placements[operation.axis])
            used, group = by_stage[stage], ""
        yield Activity(links=used, begin_ns=start[use], end_ns=end[use], group=group)
