"""Partners of each NPU in messages, relation by relation, and the ways between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from simcore.collectives import Offset, PeerRule, Step
from simcore.collectives.double_binary_tree import tree_parents
from simcore.engines.collectives.phases import Phase
from simcore.engines.events.input import EngineInput, Ints, ListGroup
from simcore.engines.events.phases import collective_phases
from simcore.engines.events.programs import Program
from simcore.errors import SimulationError
from simcore.kernels.collectives.topology_codes import FULLY_CONNECTED
from simcore.kernels.events.layout import UNAWARE
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES, Topology, distances

_MOST_PARTNERS = 4_000_000
_FAR = 1 << 32
_TOO_MANY = "there are too many pairs of partners to compare"


class CannotFoldError(SimulationError):
    """NPUs cannot be proven alike; says why. The run is simulated unfolded."""


@dataclass(frozen=True, slots=True)
class MemberLine:
    """Numbering of the members of a phase, and which of them exchange messages.

    Attributes:
        slot: Which of the program's list groups they form, -1: they lie *stride* apart.
        stride: Difference of neighbouring members' NPU ids.
        members: How many there are.
        steps: How far ahead the partners are.
        pairs: Partners exchange pairwise: ahead or behind.
        places: They stand on trees, so that members at different places are never alike.
    """

    slot: int
    stride: int
    members: int
    steps: tuple[int, ...] = ()
    pairs: bool = False
    places: bool = False

    def index_of(self, npus: Ints) -> Ints:
        """(I,) int64: the place of each of *npus* among members that lie *stride* apart."""
        index: Ints = npus // self.stride % self.members
        return index


def lines_of(
    inputs: EngineInput, program: Program, slots: Sequence[int], rows: Ints
) -> list[MemberLine]:
    """The lines along which the collectives at positions *rows* of a program communicate.

    Args:
        inputs: The run.
        program: The program.
        slots: Keys of its list groups.
        rows: Positions of its collectives.
    """
    sized = inputs.options.inter_dimension == "offline_greedy"
    size = program.size_bytes[rows] if sized else np.zeros(rows.size, np.int64)
    columns = (program.comm_kind[rows], program.group[rows], program.involved_dims[rows], size)
    found: dict[MemberLine, None] = {}
    for kind, key, involved, size_bytes in {tuple(row) for row in np.stack(columns, 1).tolist()}:
        orders = collective_phases(inputs, CollectiveKind(kind), key, involved, size_bytes)
        for phase in {phase for order in orders for phase in order}:
            slot = slots.index(key) if phase.in_list else -1
            found[_line(phase, slot)] = None
    return sorted(found, key=repr)


def _line(phase: Phase, slot: int) -> MemberLine:
    machine = phase.algorithm.machine(phase.kind, phase.members)
    if machine.peers is PeerRule.TREE:
        return MemberLine(slot=slot, stride=phase.stride, members=phase.members, places=True)
    pairs = machine.peers is PeerRule.HALVING
    steps = tuple(range(1, phase.members))
    if pairs:
        if phase.members & (phase.members - 1):
            raise CannotFoldError("pairs need a power of two")
        steps = tuple(1 << k for k in range(phase.members.bit_length() - 1))
    elif machine.peers is PeerRule.NEIGHBOUR:
        steps = (1, phase.members - 1)
    elif machine.peers is PeerRule.TABLE:
        steps = _both_ways(machine.table, phase.members)
    return MemberLine(
        slot=slot, stride=phase.stride, members=phase.members, steps=steps, pairs=pairs
    )


def _both_ways(table: Sequence[Step], members: int) -> tuple[int, ...]:
    """Offsets of those to whom a member sends, and of those from whom it receives."""
    if not all(isinstance(step.peer, Offset) for step in table):
        raise CannotFoldError("members find their partners in a table")
    ahead = {step.peer.ahead % members for step in table if isinstance(step.peer, Offset)}
    return tuple(sorted(ahead | {members - one for one in ahead}))


def partners_on(line: MemberLine, npus: Ints, lists: Sequence[Ints]) -> Ints:
    """(I, steps) int64, the partners of each NPU on one line.

    Args:
        line: The line.
        npus: (I,) int64.
        lists: Where it is a list: the members of each NPU's group, (I, members).
    """
    if npus.size * len(line.steps) > _MOST_PARTNERS:
        raise CannotFoldError(_TOO_MANY)
    if line.places:
        index = line.index_of(npus)
        apart = tree_partners(line.members)[index] - index[:, None]
        in_trees: Ints = npus[:, None] + apart * line.stride
        return in_trees
    members = None
    if line.slot >= 0:
        members = np.stack(lists)
        index = np.argmax(members == npus[:, None], axis=1)
    else:
        index = line.index_of(npus)
    steps = np.array(line.steps, np.int64)
    ahead = np.broadcast_to(steps, (npus.size, steps.size))
    if line.pairs:
        ahead = np.where(index[:, None] // steps % 2 == 1, -ahead, ahead)
    place = (index[:, None] + ahead) % line.members
    if members is not None:
        return np.take_along_axis(members, place, axis=1)
    partners: Ints = npus[:, None] + (place - index[:, None]) * line.stride
    return partners


_IN_TWO_TREES = 6  # a parent and two children in each, at most


@lru_cache(maxsize=64)
def tree_partners(members: int) -> Ints:
    """(members, 6) int64: the places next to each place in the two trees that chunks take in turn.

    Where a place has fewer neighbours, one of them stands there again; which ones they are follows
    from the place alone.
    """
    near: list[list[int]] = [[] for _ in range(members)]
    for place, parent in tree_parents(members).items():
        # the maximal tree is the minimal one with the last member as its root, the others moved up
        for one, other in ((place, parent), (place - 1, (parent or members) - 1)):
            near[one].append(other)
            near[other].append(one)
    return np.array([(found * _IN_TWO_TREES)[:_IN_TWO_TREES] for found in near], np.int64)


def refuse_own(npus: Ints, partners: Ints) -> None:
    """Refuse NPUs that are partners of their own.

    Raises:
        CannotFoldError: There is one.
    """
    if bool((partners == npus[:, None]).any()):
        raise CannotFoldError("an NPU sends to itself")


def ways(inputs: EngineInput, npus: Ints, partners: Ints) -> Ints:
    """(I, P) int64, what distinguishes the ways to the partners: equal numbers, equal ways.

    Without congestion a way is a dimension and a number of links. With it, a message must stay in
    one dimension, as the other NPUs on its way are looked for there.
    """
    refuse_own(npus, partners)
    unaware = inputs.backend_class.kernel_code == UNAWARE
    way = np.full(partners.shape, -1, np.int64)
    below = 1
    for d, dimension in enumerate(inputs.dimensions):
        a = npus[:, None] // below % dimension.npus
        b = partners // below % dimension.npus
        here = d * _FAR + _steps(dimension, a, b, unaware=unaware)
        if not unaware and bool(((a != b) & (way >= 0)).any()):
            raise CannotFoldError("messages turn from one dimension into another")
        way = np.where((a != b) & (way < 0), here, way)
        below *= dimension.npus
    return way


def _shape(dimension: NetworkDimension) -> Topology:
    return TOPOLOGIES[dimension.topology]


def _steps(dimension: NetworkDimension, a: Ints, b: Ints, *, unaware: bool) -> Ints:
    """Marks of ways within one dimension: links, or where messages meet, which NPU."""
    shape, npus = _shape(dimension), dimension.npus
    if shape.uniform:
        return np.zeros_like(b)
    if not shape.cyclic:
        if not unaware:
            raise CannotFoldError("NPUs pass on messages by a table of routes")
        found: Ints = distances(shape, npus)[np.broadcast_to(a, b.shape), b]
        return found
    apart: Ints = (b - a) % npus
    return np.minimum(apart, npus - apart) if unaware else apart


def shared_links(inputs: EngineInput, partners: Ints) -> Ints:
    """(I, P) int64, for each partner the first relation with it, where it has a link of its own.

    In a fully connected dimension, with congestion, messages of two relations share a link where
    they go to one partner.
    """
    unaware = inputs.backend_class.kernel_code == UNAWARE
    none = partners.shape[1] == 0
    if none or unaware or all(_shape(d).kernel_code != FULLY_CONNECTED for d in inputs.dimensions):
        return np.empty((partners.shape[0], 0), np.int64)
    if partners.size * partners.shape[1] > _MOST_PARTNERS:
        raise CannotFoldError(_TOO_MANY)
    first: Ints = np.argmax(partners[:, :, None] == partners[:, None, :], axis=1)
    return first


def first_relation(partners: Ints) -> Ints:
    """(I, P) int64, for each partner the first relation in which it is that."""
    order = np.argsort(partners, axis=1, kind="stable")
    ascending = np.take_along_axis(partners, order, axis=1)
    begins = np.ones(partners.shape, np.bool_)
    begins[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    begun = np.maximum.accumulate(np.where(begins, np.arange(partners.shape[1]), 0), axis=1)
    found = np.empty_like(partners)
    np.put_along_axis(found, order, np.take_along_axis(order, begun, axis=1), axis=1)
    return found


def passed_rings(inputs: EngineInput, way: Ints) -> list[int]:
    """Dimensions in which messages pass NPUs on a ring, with congestion, on these ways."""
    if inputs.backend_class.kernel_code == UNAWARE:
        return []
    return [
        d
        for d, dimension in enumerate(inputs.dimensions)
        if _shape(dimension).cyclic
        and bool(((way // _FAR == d) & (way % _FAR > 1) & (way % _FAR < dimension.npus - 1)).any())
    ]


def ring_neighbours(inputs: EngineInput, npus: Ints, rings: Sequence[int]) -> Ints:
    """(I, 2 R) int64, the next and the previous NPU in each of R dimensions.

    Where messages pass NPUs, an NPU's links also carry what NPUs further back send.
    """
    columns = [np.empty((npus.size, 0), np.int64)]
    for d in rings:
        below, size = prod(o.npus for o in inputs.dimensions[:d]), inputs.dimensions[d].npus
        at = npus // below % size
        for step in (1, size - 1):
            columns.append((npus + ((at + step) % size - at) * below)[:, None])
    return np.concatenate(columns, axis=1)


def list_slots(inputs: EngineInput, program: Program, rows: Ints) -> tuple[int, ...]:
    """Keys of the list groups of the collectives at positions *rows*, in order of appearance.

    A list of all NPUs is none: it follows the dimensions of the machine.
    """
    npus = inputs.program_of_npu.size
    return tuple(
        key
        for key in dict.fromkeys(program.group[rows].tolist())
        if isinstance(group := inputs.groups.get(key), ListGroup) and group.members.size != npus
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AlikeSet:
    """Members that have equally many partners.

    Attributes:
        members: (I,) int64.
        traits: (I, A) int64, what distinguishes them from the start.
        partners: (I, P) int64, partner of each in each of P relations.
    """

    members: Ints
    traits: Ints
    partners: Ints


def alike(count: int, blocks: Sequence[AlikeSet]) -> Ints:
    """Number the classes of members that behave alike.

    Args:
        count: Members, 0 to count - 1.
        blocks: Each member is in one of them; those of different blocks are never alike.

    Returns:
        (count,) int64, class of each; classes are numbered by their first member.
    """
    colours = np.zeros(count, np.int64)
    classes = 0
    for block in blocks:
        colours[block.members], new = numbered(block.traits, classes)
        classes = new
    while True:
        before, found, classes = colours, classes, 0
        colours = np.empty_like(before)
        for block in blocks:
            seen = np.column_stack((before[block.members], before[block.partners]))
            colours[block.members], classes = numbered(seen, classes)
        if classes == found:
            break
    _, first, number = np.unique(colours, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[number]


def numbered(rows: Ints, first: int) -> tuple[Ints, int]:
    """A number for each row, equal rows equal numbers, from *first*; and the next free number."""
    if not rows.size or bool((rows == rows[0]).all()):
        return np.full(rows.shape[0], first, np.int64), first + 1
    order = np.lexsort(rows.T)
    differs = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    numbers = np.empty(rows.shape[0], np.int64)
    numbers[order] = first + np.concatenate(([0], np.cumsum(differs)))
    return numbers, int(numbers[order[-1]]) + 1
