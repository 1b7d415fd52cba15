"""Least cost of one phase of a collective, as a sum over latency, bandwidth and the rest.

The figures are read off the state machines that the simulator runs: with one of latency,
bandwidth, endpoint delay and reduction switched on, a phase lasts as many units as it has hops,
bytes, delays or reduced bytes on its longest path. That is exact where a member has one packet
under way (rings, halving-doubling) and for trees; the direct algorithm is counted here.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from math import lcm

from simcore.collectives import (
    CollectiveAlgorithm,
    PeerRule,
    StateMachine,
    Synthesised,
    algorithm_named,
)
from simcore.collectives.base import share
from simcore.collectives.record import program_row
from simcore.engines.collectives.alike import phase_alike
from simcore.engines.collectives.phases import runnable
from simcore.engines.collectives.rows import machine_of_links, row_arrays
from simcore.kernels.collectives.phase_machine import phase_time
from simcore.kernels.collectives.records import Record
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES, Topology
from simcore.units import plain_sum

_PROBE_UNITS = 1024
_MOST_PARTS = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """Members of a group in one dimension: coordinates 0, stride, 2 x stride, ..."""

    topology: str
    npus: int
    members: int
    stride: int

    def hops(self, first: int, second: int) -> int:
        """Links between two members, by their number in the group."""
        return self.shape.hops(self.npus, first * self.stride, second * self.stride)

    @property
    def shape(self) -> Topology:
        """Topology of NPUs."""
        return TOPOLOGIES[self.topology]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCost:
    """Columns of ``BoundTables.phases``: least cost of a phase on a buffer of *size* bytes.

    With ``u = size // divisor`` it is at least ``hops x latency + units x u / bandwidth -
    messages + delays x endpoint delay + 3 x (reduced x u / memory bandwidth - reductions)`` ns.

    Attributes:
        divisor: Bytes of the buffer per unit.
        hops: On the longest path to the member that ends last (or first, if that is asked).
        units: Of data that follow each other on it.
        messages: On it; each is rounded down to a whole ns.
        delays: Endpoint delays on it.
        reduced: Units that are reduced on it.
        reductions: How many reductions that is; each rounds three times.
        grows, shrinks: The buffer afterwards is ``size x grows // shrinks``.
        unlike: 1 where members may end at different times.
        sent: Units that a member sends in all (mean over the members).
        exact: 1 where no phase takes longer than that but for what is rounded down.
    """

    divisor: int
    hops: int
    units: int
    messages: int
    delays: int
    reduced: int
    reductions: int
    grows: int
    shrinks: int
    unlike: int
    sent: float
    exact: int = 0

    def row(self) -> tuple[float, ...]:
        return astuple(self)


NOTHING = PhaseCost(
    divisor=1, hops=0, units=0, messages=0, delays=0, reduced=0, reductions=0,
    grows=1, shrinks=1, unlike=0, sent=0.0,
)  # fmt: skip


def least_cost(costs: Sequence[PhaseCost]) -> PhaseCost:
    """A cost that none of *costs* goes below, whatever the size; they leave the same buffer."""
    if len({*costs}) == 1:
        return costs[0]
    divisor = lcm(*(cost.divisor for cost in costs))
    known = divisor <= _MOST_PARTS  # else what is left of a unit may be all of it
    parts = [divisor // cost.divisor if known else 0 for cost in costs]
    pairs = [*zip(costs, parts, strict=True)]
    return replace(
        costs[0],
        divisor=divisor if known else 1,
        hops=min(cost.hops for cost in costs),
        units=min(cost.units * part for cost, part in pairs),
        messages=max(cost.messages for cost in costs),
        delays=min(cost.delays for cost in costs),
        reduced=min(cost.reduced * part for cost, part in pairs),
        reductions=max(cost.reductions for cost in costs),
        unlike=max(cost.unlike for cost in costs),
        sent=min(cost.sent * part for cost, part in pairs),
        exact=0,
    )


@lru_cache(maxsize=65536)
def phase_cost(name: str, kind: CollectiveKind, line: CostLine, *, first: bool) -> PhaseCost:
    """The least cost of *kind* by the algorithm *name* among the members of *line*.

    Args:
        name: As in a system file, ``by_topology`` resolved.
        kind: What the members do.
        line: The members.
        first: Until the first of them is done, all having started together; else until the last.
    """
    runs = runnable(name, kind, line.members)
    algorithm = algorithm_named(runs)
    grows = line.members if kind is CollectiveKind.ALL_GATHER else 1
    shrinks = line.members if kind is CollectiveKind.REDUCE_SCATTER else 1
    machine = algorithm.machine(kind, line.members)
    if machine.peers is PeerRule.TREE:
        return _tree(line, first)
    alike = phase_alike(algorithm, kind, line.shape, line.npus, line.members, line.stride)
    if isinstance(algorithm, Synthesised):
        columns = {"delays": machine.steps + 1}  # what links carry is the network's own
    elif machine.peers is PeerRule.TABLE:
        columns = _by_table(machine, line)
    elif machine.peers is PeerRule.ROTATING:
        columns = _direct(machine, kind, line, first)
        at_once = machine.parallel >= line.members - 1 and kind is CollectiveKind.ALL_GATHER
        columns["exact"] = int(alike and at_once)  # nothing is reduced, in whatever order
    else:
        divisor = share(kind, line.members) * (2 if kind is CollectiveKind.ALL_REDUCE else 1)
        columns = _one_by_one(algorithm, machine.steps, kind, line, divisor)
        columns["exact"] = int(alike)
        if machine.peers is PeerRule.NEIGHBOUR and not alike:
            columns["hops"] = _around(machine.steps, line, first)
        elif not alike:
            columns["hops"] = _nearest_pairs(machine.steps, line)
    unlike = {"grows": grows, "shrinks": shrinks, "unlike": int(not alike)}
    return replace(NOTHING, **columns, **unlike)


def _by_table(machine: StateMachine, line: CostLine) -> dict[str, int]:
    """Step after step; of each, the nearest of the pairs that exchange messages in it."""
    divisor = lcm(*(step.size.denominator for step in machine.table))
    if divisor > _MOST_PARTS:  # what is left of a unit is rounded down: nothing is certain of it
        return {"delays": machine.steps + 1}
    hops = units = reduced = reductions = 0
    for step in machine.table:
        receivers = [step.peer.receiver(member, line.members) for member in range(line.members)]
        nearest = min(line.hops(a, b) for a, b in enumerate(receivers) if b is not None)
        parts = int(step.size * divisor) * step.times
        hops, units = hops + nearest * step.times, units + parts
        reduced += parts * step.reduces
        reductions += step.times * step.reduces
    return {
        "divisor": divisor, "hops": hops, "units": units, "messages": machine.steps,
        "delays": machine.steps + 1, "reduced": reduced, "reductions": reductions, "sent": units,
    }  # fmt: skip


def _one_by_one(
    algorithm: CollectiveAlgorithm, steps: int, kind: CollectiveKind, line: CostLine, divisor: int
) -> dict[str, int]:
    """A member with one packet under way: everything on its path adds up."""
    row, table = program_row(algorithm, kind, line.members)
    rows, _ = row_arrays([(row._replace(stride=line.stride), table)])

    def probe(**rates: float) -> int:
        return _probe(rows[0], line, divisor, **rates)

    units = probe(bytes_per_ns=1.0) // _PROBE_UNITS
    return {
        "divisor": divisor,
        "hops": probe(latency_ns=1.0),
        "units": units,
        "messages": steps,
        "sent": units,
        "delays": probe(endpoint_delay_ns=1),
        "reduced": probe(memory_bytes_per_s=1e9) // (3 * _PROBE_UNITS),
        "reductions": steps,
    }


def _probe(row: Record, line: CostLine, divisor: int, **rates: float) -> int:
    """Duration of the phase where only *rates* cost something."""
    costs = {
        "bytes_per_ns": 1e30,
        "latency_ns": 0.0,
        "endpoint_delay_ns": 0,
        "memory_bytes_per_s": 0.0,
        **rates,
    }
    link = line.shape, line.npus, costs["bytes_per_ns"], costs["latency_ns"]
    machine = machine_of_links([link], int(costs["endpoint_delay_ns"]), costs["memory_bytes_per_s"])
    duration, _, _ = phase_time(row, divisor * _PROBE_UNITS, machine)
    return int(duration)


def _around(steps: int, line: CostLine, first: bool) -> int:
    """Hops of *steps* messages in a row on part of a ring, where the way back is another one."""
    edges = [line.hops(i, (i + 1) % line.members) for i in range(line.members)]
    paths = [
        plain_sum(edges[(start + step) % line.members] for step in range(steps))
        for start in range(line.members)
    ]
    return min(paths) if first else max(paths)


def _nearest_pairs(steps: int, line: CostLine) -> int:
    """Hops of *steps* exchanges, each over twice the distance; of each, the nearest pair."""
    levels = line.members.bit_length() - 1
    nearest = [
        min(line.hops(member, member ^ (1 << level)) for member in range(line.members))
        for level in range(levels)
    ]
    return steps // levels * plain_sum(nearest)


def _direct(
    machine: StateMachine, kind: CollectiveKind, line: CostLine, first: bool
) -> dict[str, int]:
    """Messages to all others at once, or as many at a time as the window allows.

    Where distances differ, those who have heard from their neighbours go on before the farthest
    message is there, so that only the farthest messages and two delays surely follow each other.
    """
    peers = line.members - 1
    halves = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    divisor = 1 if kind is CollectiveKind.ALL_GATHER else line.members
    if machine.parallel < peers:
        rounds = -(-machine.steps // machine.parallel)
        everyone = range(line.members)
        firsts = everyone if not (line.shape.uniform or line.shape.cyclic) else range(1)
        nearest = min(line.hops(i, other) for i in firsts for other in everyone if other != i)
        return {
            "divisor": divisor, "hops": rounds * nearest, "units": rounds,
            "messages": rounds, "delays": rounds + 1, "sent": machine.steps,
        }  # fmt: skip
    everyone, even = range(line.members), line.shape.uniform
    if even:  # one pair tells of all, which are a million among a thousand members
        farthest = [line.hops(0, 1)]
    else:
        farthest = [max(line.hops(i, j) for j in everyone if j != i) for i in everyone]
    reduces = kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
    certain = reduces and (even or halves == 1)
    return {
        "divisor": divisor,
        "hops": halves * (min(farthest) if first else max(farthest)),
        "units": halves,
        "messages": halves,
        "delays": halves + 1 if even else 2,
        "reduced": int(certain),
        "reductions": int(certain),
        "sent": machine.steps,
    }


def _tree(line: CostLine, first: bool) -> PhaseCost:
    """Up to member 0, the root of a complete binary tree of the others, and down to the leaves.

    The root is done first. With l levels it has waited for l messages, l + 1 delays and l
    reductions; the last leaf for as many messages and delays again, but for one delay less.
    """
    levels = line.members.bit_length() - 1
    hops = _deepest(line, 1, line.members - 1, 0)
    messages = levels if first else 2 * levels
    reduced = levels if first else 2 * levels - 1
    return PhaseCost(
        divisor=1,
        hops=hops if first else 2 * hops,
        units=messages,
        messages=messages,
        delays=messages + 1,
        reduced=reduced,
        reductions=reduced,
        grows=1,
        shrinks=1,
        unlike=1,
        sent=2 * (line.members - 1) / line.members,
    )


def _deepest(line: CostLine, first: int, last: int, parent: int) -> int:
    """Most hops from *parent* to a leaf among the members *first* to *last*."""
    middle = (first + last) // 2
    below = 0
    if first < last:
        halves = ((first, middle - 1), (middle + 1, last))
        below = max(_deepest(line, *half, middle) for half in halves)
    return line.hops(parent, middle) + below
