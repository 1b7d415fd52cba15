"""The phases of each collective node: those of its chunks, dimension by dimension.

Source: S. Rashidi et al., "Themis: A Network Bandwidth-Aware Collective Scheduling Policy for
Distributed Training of DL Models", ISCA 2022 (hierarchical collectives); details of ASTRA-sim 2.0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from simcore.collectives import (
    CollectiveAlgorithm,
    DoubleBinaryTree,
    HalvingDoubling,
    PeerRule,
    Ring,
    algorithm_name,
    runnable,
)
from simcore.engines.collectives.phases import Phase, leading, passes_of_chunk, placed_row
from simcore.engines.events.input import ChosenAlgorithm, EngineInput, GridGroup, ListGroup
from simcore.errors import ConfigError
from simcore.kernels.events import layout
from simcore.terms import EVERYWHERE, CollectiveKind
from simcore.topologies import TOPOLOGIES

POLICIES = ("ascending", "round_robin", "offline_greedy")
_THRESHOLD_PARTS = 16  # loads nearer than the time of this part of a chunk count as balanced


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionCost:
    """Cost of one dimension to a chunk that passes it.

    Attributes:
        members: NPUs that share the chunk there, at least 2.
        bytes_per_ns: What one member sends per time, over all links that its algorithm keeps busy.
        latency_ns: Of the steps that follow each other.
    """

    members: int
    bytes_per_ns: float
    latency_ns: float

    def scatter_ns(self, size_bytes: float) -> float:
        """Time to reduce-scatter *size_bytes* over an idle dimension."""
        sent_bytes = size_bytes * (self.members - 1) / self.members
        return self.latency_ns + sent_bytes / self.bytes_per_ns


def dimension_orders(
    policy: str, costs: Sequence[DimensionCost], chunk_bytes: int, chunks: int
) -> tuple[tuple[int, ...], ...]:
    """The order of the dimensions for chunk 0, 1, ...; the list is used again from its start.

    Reductions pass the dimensions in this order, gathers in the reverse one. All NPUs decide alike.

    Args:
        policy: One of ``POLICIES``.
        costs: Of each dimension that takes part, innermost first.
        chunk_bytes: Size of a chunk.
        chunks: How many there are at most.
    """
    ascending = tuple(range(len(costs)))
    if policy == "ascending" or len(costs) < 2:
        return (ascending,)
    if policy == "round_robin":
        return tuple(ascending[i:] + ascending[:i] for i in ascending)
    loads_ns = [0.0] * len(costs)
    orders = []
    for _ in range(chunks):
        least = min(ascending, key=lambda d: loads_ns[d])
        threshold_ns = costs[least].scatter_ns(chunk_bytes / _THRESHOLD_PARTS)
        order = ascending
        if max(loads_ns) - min(loads_ns) >= threshold_ns:
            order = tuple(sorted(ascending, key=lambda d: loads_ns[d]))
        size_bytes = float(chunk_bytes)
        for d in order:
            loads_ns[d] += costs[d].scatter_ns(size_bytes)
            size_bytes /= costs[d].members
        orders.append(order)
    return tuple(orders)


_MOST_STREAMS_PER_CHUNK = 2  # where the size is no multiple of the chunks


def collective_phases(
    inputs: EngineInput, kind: CollectiveKind, group_key: int, involved_dims: int, size_bytes: int
) -> tuple[tuple[Phase, ...], ...]:
    """The phases of chunk 0, 1, ... (and again) of *kind* in a group.

    They are empty where no member has a partner.

    Args:
        inputs: The run.
        kind: Of the collective.
        group_key: Of its group; 0: all NPUs.
        involved_dims: Bit d set: it runs over dimension d. Groups given as lists ignore it.
        size_bytes: Of its buffer.

    Raises:
        ConfigError: No such algorithm, or one that cannot run here.
    """
    dimensions = _whole_phases(inputs, kind, group_key)
    group = inputs.groups.get(group_key)
    if isinstance(group, ListGroup):
        involved_dims = -1
    used = [d for i, d in enumerate(dimensions) if d.members > 1 and involved_dims >> i & 1]
    options = inputs.options
    found = []
    costs = [_cost(inputs, d) for d in used]
    chunk_bytes = max(size_bytes // options.chunks, 1)
    for order in dimension_orders(
        options.inter_dimension, costs, chunk_bytes, _MOST_STREAMS_PER_CHUNK * options.chunks
    ):
        passes = passes_of_chunk(kind, order, options.local_bw_aware)
        lines = {d: (used[d].stride, used[d].members) for d in order}
        phases = [
            replace(used[d], kind=what, leads=leading(kind, order, d, lines)) for d, what in passes
        ]
        if not options.reference_quirks:
            phases = [_with_stand_in(phase, kind) for phase in phases]
        for phase in phases:
            _check_runs(phase, quirks=options.reference_quirks)
        found.append(tuple(phases))
    return tuple(found)


def _cost(inputs: EngineInput, over: Phase) -> DimensionCost:
    """Costs for the choice of an order: idle links, steps one after the other."""
    dimension = inputs.dimensions[over.dimension]
    steps, parallel = over.members - 1, 1
    if over.algorithm.runs(CollectiveKind.REDUCE_SCATTER, over.members):
        machine = over.algorithm.machine(CollectiveKind.REDUCE_SCATTER, over.members)
        if machine.peers is not PeerRule.TREE:
            steps, parallel = machine.steps, machine.parallel
    hops = TOPOLOGIES[dimension.topology].least_hops(dimension.npus)
    return DimensionCost(
        members=over.members,
        bytes_per_ns=dimension.bytes_per_ns * parallel,
        latency_ns=hops * dimension.latency_ns * steps / parallel,
    )


def _whole_phases(inputs: EngineInput, kind: CollectiveKind, group_key: int) -> list[Phase]:
    """A phase of *kind* for each logical dimension of the group, innermost first."""
    names = inputs.options.algorithms.get(int(kind), ())
    group = inputs.groups.get(group_key)
    npus = prod(d.npus for d in inputs.dimensions)
    at = _at(kind)
    listed = isinstance(group, ListGroup) and group.members.size != npus
    if not names and not (listed and kind in EVERYWHERE):
        key = f"{kind.name.lower().replace('_', '-')}-implementation"
        rule = f"a collective needs an algorithm per dimension ({key} in a system file)"
        raise ConfigError(at, rule, got=names)
    if isinstance(group, ListGroup) and listed:
        return [_list_phase(kind, names, group)]
    if len(names) > len(inputs.dimensions):
        rule = f"the network has {len(inputs.dimensions)} dimension(s)"
        raise ConfigError(at, rule, got=len(names))
    if isinstance(group, GridGroup):
        return _grid_phases(inputs, kind, names, group)
    return _machine_phases(inputs, kind, names, npus)


def _at(kind: CollectiveKind) -> str:
    return f"options.algorithms[{kind.name.lower()}]"


def _list_phase(kind: CollectiveKind, names: Sequence[ChosenAlgorithm], group: ListGroup) -> Phase:
    """A list is one dimension in the order given: its algorithm if there is just one, else a ring.

    Of a kind that no ring can do, what stands in for it.
    """
    members = int(group.members.size)
    algorithm: CollectiveAlgorithm = Ring()
    if len(names) == 1:
        algorithm = names[0].algorithm
    elif kind not in EVERYWHERE:
        algorithm = runnable(algorithm, kind, members)
    return Phase(
        kind=kind, algorithm=algorithm, members=members, stride=0, dimension=0, in_list=True
    )


def _machine_phases(
    inputs: EngineInput, kind: CollectiveKind, named: Sequence[ChosenAlgorithm], npus: int
) -> list[Phase]:
    dimensions: list[Phase] = []
    below = 1
    for d, (name, dimension) in enumerate(zip(named, inputs.dimensions, strict=False)):
        if name.whole_machine:  # ends the list
            whole = Phase(kind=kind, algorithm=name.algorithm, members=npus, stride=1, dimension=d)
            return [*dimensions, whole]
        run = name.algorithm
        dimensions.append(
            Phase(kind=kind, algorithm=run, members=dimension.npus, stride=below, dimension=d)
        )
        below *= dimension.npus
    return dimensions


def _grid_phases(
    inputs: EngineInput, kind: CollectiveKind, named: Sequence[ChosenAlgorithm], group: GridGroup
) -> list[Phase]:
    dimensions = []
    below = 1
    for d, dimension in enumerate(inputs.dimensions):
        extent, stride = int(group.extent[d]), int(group.stride[d])
        if extent > 1:
            if d >= len(named) or named[d].whole_machine:
                rule = f"a grid group needs a per-dimension algorithm in dimension {d}"
                raise ConfigError(_at(kind), rule, got=len(named))
            if stride < 1 or dimension.npus % (extent * stride):
                rule = f"extent x stride must divide the {dimension.npus} NPUs of dimension {d}"
                raise ConfigError("groups", rule, got=(extent, stride))
        run = named[min(d, len(named) - 1)].algorithm
        dimensions.append(
            Phase(kind=kind, algorithm=run, members=extent, stride=below * stride, dimension=d)
        )
        below *= dimension.npus
    return dimensions


def _with_stand_in(phase: Phase, kind: CollectiveKind) -> Phase:
    """Phase to run if a collective of *kind* is split, and its algorithm cannot do a part of it."""
    if phase.kind is kind:
        return phase
    return replace(phase, algorithm=runnable(phase.algorithm, phase.kind, phase.members))


def _check_runs(phase: Phase, *, quirks: bool) -> None:
    runs = phase.algorithm.runs(phase.kind, phase.members)
    is_tree = isinstance(phase.algorithm, DoubleBinaryTree)
    if quirks and isinstance(phase.algorithm, HalvingDoubling):
        runs = phase.kind in EVERYWHERE and phase.kind is not CollectiveKind.ALL_TO_ALL
    elif quirks and is_tree and phase.kind in EVERYWHERE:
        # which performs an all-reduce, whatever is asked for
        runs = phase.algorithm.runs(CollectiveKind.ALL_REDUCE, phase.members)
    if not runs:
        rule = f"{algorithm_name(phase.algorithm)} cannot run {phase.kind.name.lower()} here"
        raise ConfigError("algorithm", f"{rule}: wrong kind or count of members", got=phase.members)
    if is_tree and phase.in_list:
        rule = "double_binary_tree needs a dimension of the network, not a list of members"
        raise ConfigError("algorithm", rule, got=phase.members)


def phase_words(phase: Phase, *, members_at: int, tree: int) -> tuple[list[int], tuple[int, ...]]:
    """The words of a phase in the arena, and those of its step table.

    Args:
        phase: The phase.
        members_at: Where the list of its members lies, 0: none.
        tree: Number of its tree counter; without meaning for the other algorithms.
    """
    row, table = placed_row(phase)
    words = [*row, *[0] * (layout.PHASE_WORDS - len(row))]
    words[layout.PHASE_LIST] = members_at
    words[layout.PHASE_LOCAL] = int(phase.in_list)
    words[layout.PHASE_TREE] = tree
    return words, table


def queue_pass(inputs: EngineInput, kind: CollectiveKind, phase: Phase) -> int:
    """The choice of queue: an all-reduce that is split passes dimensions twice."""
    if kind is not CollectiveKind.ALL_REDUCE or not inputs.options.local_bw_aware:
        return layout.PASS_PLAIN
    gathers = phase.kind is CollectiveKind.ALL_GATHER
    return layout.PASS_LAST if gathers else layout.PASS_FIRST
