"""What each collective node runs: the phases of its chunks, dimension by dimension.

Source: S. Rashidi et al., "Themis: A Network Bandwidth-Aware Collective Scheduling Policy for
Distributed Training of DL Models", ISCA 2022 (hierarchical collectives); details of ASTRA-sim 2.0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2, prod

from simcore.collectives.astra_names import NamedAlgorithm, astra_algorithm
from simcore.collectives.base import CollectiveAlgorithm, PeerRule, PhaseProgram
from simcore.collectives.double_binary_tree import DoubleBinaryTree
from simcore.collectives.halving_doubling import HalvingDoubling
from simcore.collectives.ring import Ring
from simcore.errors import ConfigError
from simcore.kernels.engine import layout
from simcore.system.dimension_order import DimensionCost, dimension_orders
from simcore.system.engine_input import EngineInput, GridGroup, ListGroup
from simcore.terms import CollectiveKind

_MOST_STREAMS_PER_CHUNK = 2  # where the size is no multiple of the chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalDimension:
    """One dimension of a collective: its members and how they are found.

    Attributes:
        algorithm: What the members run.
        members: How many there are; 1: nothing to do.
        stride: Difference of neighbouring members' NPU ids.
        dimension: The network dimension whose queues the chunks pass.
        in_list: The members are those of a list group (ASTRA-sim's kind "Local").
    """

    algorithm: CollectiveAlgorithm
    members: int
    stride: int
    dimension: int
    in_list: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase of a chunk: what is done in which logical dimension, and its choice of queue."""

    kind: CollectiveKind
    over: LogicalDimension
    queue_pass: int


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
    dimensions = _logical_dimensions(inputs, kind, group_key)
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
        passed = [used[d] for d in order]
        phases = _in_order(kind, passed, local_bw_aware=options.local_bw_aware)
        for phase in phases:
            _check_runs(phase, quirks=options.reference_quirks)
        found.append(tuple(phases))
    return tuple(found)


def _cost(inputs: EngineInput, over: LogicalDimension) -> DimensionCost:
    """What the choice of an order counts with: idle links, steps one after the other."""
    dimension = inputs.dimensions[over.dimension]
    probe_bytes = 4 * over.members
    steps, parallel = over.members - 1, 1
    if over.algorithm.runs(CollectiveKind.REDUCE_SCATTER, over.members):
        program = over.algorithm.program(CollectiveKind.REDUCE_SCATTER, over.members, probe_bytes)
        if program is not None:
            steps, parallel = program.steps, program.parallel
    hops = 2 if dimension.topology == "switch" else 1
    return DimensionCost(
        members=over.members,
        bytes_per_ns=dimension.bytes_per_ns * parallel,
        latency_ns=hops * dimension.latency_ns * steps / parallel,
    )


def _logical_dimensions(
    inputs: EngineInput, kind: CollectiveKind, group_key: int
) -> list[LogicalDimension]:
    names = inputs.options.algorithms.get(int(kind), ())
    group = inputs.groups.get(group_key)
    npus = prod(d.npus for d in inputs.dimensions)
    at = f"options.algorithms[{kind.name.lower()}]"
    if isinstance(group, ListGroup) and group.members.size != npus:
        return [_list_dimension(names, group)]
    if not names:
        raise ConfigError(at, "a collective needs an algorithm per dimension", got=names)
    if len(names) > len(inputs.dimensions):
        rule = f"the network has {len(inputs.dimensions)} dimension(s)"
        raise ConfigError(at, rule, got=list(names))
    named = [_named(name, at) for name in names]
    if isinstance(group, GridGroup):
        return _grid_dimensions(inputs, named, group, at)
    return _machine_dimensions(inputs, named, npus)


def _named(name: str, at: str) -> NamedAlgorithm:
    try:
        return astra_algorithm(name)
    except ConfigError as error:
        raise error.under(at) from None


def _list_dimension(names: Sequence[str], group: ListGroup) -> LogicalDimension:
    """A list is one ring in the order given: its algorithm if there is just one, else ring."""
    algorithm: CollectiveAlgorithm = Ring()
    if len(names) == 1:
        algorithm = _named(names[0], "options.algorithms").algorithm
    members = int(group.members.size)
    return LogicalDimension(
        algorithm=algorithm, members=members, stride=0, dimension=0, in_list=True
    )


def _machine_dimensions(
    inputs: EngineInput, named: Sequence[NamedAlgorithm], npus: int
) -> list[LogicalDimension]:
    dimensions: list[LogicalDimension] = []
    below = 1
    for d, (name, dimension) in enumerate(zip(named, inputs.dimensions, strict=False)):
        if name.whole_machine:  # ends the list
            whole = LogicalDimension(algorithm=name.algorithm, members=npus, stride=1, dimension=d)
            return [*dimensions, whole]
        dimensions.append(
            LogicalDimension(
                algorithm=name.algorithm, members=dimension.npus, stride=below, dimension=d
            )
        )
        below *= dimension.npus
    return dimensions


def _grid_dimensions(
    inputs: EngineInput, named: Sequence[NamedAlgorithm], group: GridGroup, at: str
) -> list[LogicalDimension]:
    dimensions = []
    below = 1
    for d, dimension in enumerate(inputs.dimensions):
        extent, stride = int(group.extent[d]), int(group.stride[d])
        if extent > 1:
            if d >= len(named) or named[d].whole_machine:
                rule = f"a grid group needs a per-dimension algorithm in dimension {d}"
                raise ConfigError(at, rule, got=inputs.options.algorithms)
            if stride < 1 or dimension.npus % (extent * stride):
                rule = f"extent x stride must divide the {dimension.npus} NPUs of dimension {d}"
                raise ConfigError("groups", rule, got=(extent, stride))
        name = named[min(d, len(named) - 1)]
        dimensions.append(
            LogicalDimension(
                algorithm=name.algorithm, members=extent, stride=below * stride, dimension=d
            )
        )
        below *= dimension.npus
    return dimensions


def _in_order(
    kind: CollectiveKind, used: list[LogicalDimension], *, local_bw_aware: bool
) -> list[Phase]:
    """Gathers go down through the dimensions, everything else up.

    A bandwidth-aware all-reduce scatters on the way up, reduces fully in the last dimension and
    gathers on the way down; each dimension then carries only its share.
    """
    if kind is CollectiveKind.ALL_REDUCE and local_bw_aware:
        last = len(used) - 1
        up = [
            Phase(
                kind=CollectiveKind.ALL_REDUCE if i == last else CollectiveKind.REDUCE_SCATTER,
                over=over,
                queue_pass=layout.PASS_FIRST,
            )
            for i, over in enumerate(used)
        ]
        down = [
            replace(phase, kind=CollectiveKind.ALL_GATHER, queue_pass=layout.PASS_LAST)
            for phase in reversed(up[:-1])
        ]
        return up + down
    order = used[::-1] if kind is CollectiveKind.ALL_GATHER else used
    return [Phase(kind=kind, over=over, queue_pass=layout.PASS_PLAIN) for over in order]


def _check_runs(phase: Phase, *, quirks: bool) -> None:
    over = phase.over
    runs = over.algorithm.runs(phase.kind, over.members)
    is_tree = isinstance(over.algorithm, DoubleBinaryTree)
    if quirks and isinstance(over.algorithm, HalvingDoubling):
        runs = phase.kind is not CollectiveKind.ALL_TO_ALL
    elif quirks and is_tree:  # which performs an all-reduce, whatever is asked for
        runs = over.algorithm.runs(CollectiveKind.ALL_REDUCE, over.members)
    if not runs:
        rule = f"{over.algorithm.astra_name} cannot run {phase.kind.name.lower()} here"
        raise ConfigError("algorithm", f"{rule}: wrong kind or count of members", got=over.members)
    if is_tree and over.in_list:
        rule = "doubleBinaryTree needs a dimension of the network, not a list of members"
        raise ConfigError("algorithm", rule, got=over.members)


def phase_words(phase: Phase, *, members_at: int, tree: int) -> list[int]:
    """The words of a phase in the arena.

    Args:
        phase: The phase.
        members_at: Where the list of its members lies, 0: none.
        tree: Number of its tree counter; without meaning for the other algorithms.
    """
    over = phase.over
    probe_bytes = 4 * over.members
    program = over.algorithm.program(phase.kind, over.members, probe_bytes)
    reduce_rule = {
        CollectiveKind.ALL_REDUCE: layout.REDUCE_FIRST_HALF,
        CollectiveKind.REDUCE_SCATTER: layout.REDUCE_ALWAYS,
    }.get(phase.kind, layout.REDUCE_NEVER)
    words = [0] * layout.PHASE_WORDS
    words[layout.PHASE_HALVES] = int(phase.kind is CollectiveKind.ALL_REDUCE)
    words[layout.PHASE_REDUCE_RULE] = reduce_rule
    words[layout.PHASE_MEMBERS] = over.members
    words[layout.PHASE_STRIDE] = over.stride
    words[layout.PHASE_LIST] = members_at
    words[layout.PHASE_LOCAL] = int(over.in_list)
    words[layout.PHASE_DIMENSION] = over.dimension
    words[layout.PHASE_PASS] = phase.queue_pass
    words[layout.PHASE_TREE] = tree
    words[layout.PHASE_RESULT_TIMES] = words[layout.PHASE_RESULT_OVER] = 1
    words[layout.PHASE_PEERS] = layout.PEERS_TREE
    if program is not None:
        _write_program(words, program, over, probe_bytes)
    return words


def _write_program(
    words: list[int], program: PhaseProgram, over: LogicalDimension, probe_bytes: int
) -> None:
    reduced = program.reduced
    if over.in_list and program.peers is PeerRule.ROTATING:
        reduced = (over.members - 1) * program.parallel  # as ASTRA-sim counts in groups
    words[layout.PHASE_PEERS] = int(program.peers)
    words[layout.PHASE_STEPS] = program.steps
    if program.peers is PeerRule.HALVING and words[layout.PHASE_HALVES]:
        # as ASTRA-sim counts on other member counts than powers of two; equal on those
        words[layout.PHASE_STEPS] = int(2 * log2(over.members))
    words[layout.PHASE_PARALLEL] = program.parallel
    words[layout.PHASE_REDUCED] = reduced
    words[layout.PHASE_DIVISOR] = probe_bytes // program.first_bytes
    words[layout.PHASE_DISTANCE] = program.first_distance
    words[layout.PHASE_SHRINKS] = int(program.factor > 1.0)
    words[layout.PHASE_RESULT_TIMES] = max(program.result_bytes // probe_bytes, 1)
    words[layout.PHASE_RESULT_OVER] = max(probe_bytes // program.result_bytes, 1)
