"""Machines and systems of many designs, as rows of the kernels' tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.collectives import IN_NETWORK, SYNTHESISED, algorithm_named, runnable
from simcore.engines.collectives.phases import Phase, passes_of_chunk
from simcore.engines.collectives.rows import machine_of, phase_row
from simcore.errors import ConfigError
from simcore.kernels.collectives.records import LINK, PHASE, PhaseRow
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.kernels.many import tables
from simcore.kernels.many.row_times import mark_phases
from simcore.machine import Dimension
from simcore.machine.system import BY_TOPOLOGY, System
from simcore.many.parts import Numbered, PartRows, Parts
from simcore.many.places import Places
from simcore.many.plans import KINDS
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES

Ints = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Machines:
    """Machines with the same number of dimensions.

    Attributes:
        shapes: An example of each topology with a number of NPUs.
        algorithms: By name.
    """

    dimensions: int
    places: Places = field(init=False)
    shapes: Numbered[tuple[str, int]] = field(default_factory=Numbered)
    examples: list[Dimension] = field(default_factory=list)
    algorithms: Numbered[str] = field(default_factory=Numbered)
    systems: Numbered[tuple[int, int, int, int]] = field(default_factory=Numbered)
    _vectors: list[list[list[int]]] = field(default_factory=list)
    _phases: list[PhaseRow] = field(default_factory=list)
    _words: list[int] = field(default_factory=list)
    _phase_of: Ints = field(default_factory=lambda: np.zeros((len(KINDS), 0, 0, 0), np.int64))
    _passes: tuple[Ints, Ints] = field(init=False)
    _system_of: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places = Places(self.dimensions)
        self._passes = _passes(self.dimensions)

    def rows(
        self,
        part: PartRows,
        place: Ints,
        plan: Ints,
        parts: Parts,
    ) -> tables.MachineRows:
        """Rows of the kernels' tables for N designs with these parts.

        Args:
            part: Of each design, by number.
            place: Of the groups of each axis.
            plan: Row of each design in the table of plans.
            parts: All that there are.
        """
        dimensions, systems = parts.dimensions.things, parts.systems.things
        shape_of = np.array([self._shape(one) for one in dimensions], np.int64)
        shape, links = shape_of[part.dimensions], _links(dimensions)[part.dimensions]
        known = self._system_of
        known += [self.systems.number(_system(one)) for one in systems[len(known) :]]
        system_of = np.array(known, np.int64)
        rates = [
            npu.memory_bandwidth_bytes_per_s / 1e9 * 1e9 for npu, _, _ in parts.accelerators.things
        ]
        spots, members = self.places.arrays()
        return tables.MachineRows(
            plan=plan,
            system=system_of[part.system],
            systems=np.array(self.systems.things, tables.SYSTEM),
            links=links,
            shares_ports=np.array([d.shares_ports for d in dimensions])[part.dimensions],
            shape=shape,
            algorithm=self._algorithm(part.system, shape, systems),
            place=place,
            spots=spots,
            members=members,
            memory_bytes_per_s=np.array(rates)[part.accelerator],
        )

    def phases(self, plans: tables.PlanTables, rows: tables.MachineRows) -> tables.PhaseTable:
        """Phases that *rows* ask for."""
        needed = (len(KINDS), len(self.algorithms.things), len(self.places.spots.things))
        shape = (*needed, len(self.shapes.things))
        if shape != self._phase_of.shape:
            grown = np.full(shape, -1)
            old = self._phase_of
            grown[tuple(map(slice, old.shape))] = old
            self._phase_of = grown
        asked = np.zeros(shape, np.int64)
        table = self._table()
        mark_phases(plans, rows, table, asked)
        new = np.argwhere((asked > 0) & (self._phase_of < 0)).tolist()
        for place in new:
            self._phase_of[tuple(place)] = self._add(*place)
        return self._table() if new else table

    def _table(self) -> tables.PhaseTable:
        first, passes = self._passes
        return tables.PhaseTable(
            pass_first=first,
            passes=passes,
            phase_of=self._phase_of,
            phases=np.array(self._phases, PHASE),
            words=np.array(self._words, np.int64),
        )

    def _shape(self, dimension: Dimension) -> int:
        number = self.shapes.number((dimension.topology, dimension.npus))
        if number == len(self.examples):
            self.examples.append(dimension)
        return number

    def _algorithm(self, system: Ints, shape: Ints, systems: Sequence[System]) -> Ints:
        """(N, kinds, D) int64: the algorithm of each kind in each dimension."""
        named = self.vectors(systems)[system]
        suits = [TOPOLOGIES[name].algorithm for name, _ in self.shapes.things]
        suited = np.array([self.algorithms.number(name) for name in suits], np.int64)
        by_topology = self.algorithms.number(BY_TOPOLOGY)
        return np.where(named == by_topology, suited[shape][:, None, :], named)

    def vectors(self, systems: Sequence[System]) -> Ints:
        """(S, kinds, D) int64: algorithms that *systems* name; -1 of a system not run at once.

        Such has too many or few of them, schedules that are made for its network, or sums that not
        all switches do.

        Args:
            systems: All that there are; those known before keep their places.
        """
        for system in systems[len(self._vectors) :]:
            try:
                names = [system.vector(kind, self.dimensions) for kind in KINDS]
            except ConfigError:
                names = []
            if not names or any({SYNTHESISED, IN_NETWORK} & set(own) for own in names):
                self._vectors.append([[-1] * self.dimensions] * len(KINDS))
                continue
            self._vectors.append([[self.algorithms.number(one) for one in own] for own in names])
        return np.array(self._vectors, np.int64).reshape(-1, len(KINDS), self.dimensions)

    def _add(self, what: int, algorithm: int, spot: int, shape: int) -> int:
        """Append a phase; its number."""
        kind, (members, stride) = KINDS[what], self.places.spots.things[spot]
        named = algorithm_named(self.algorithms.things[algorithm])
        phase = Phase(
            dimension=0,
            kind=kind,
            algorithm=runnable(named, kind, members),
            members=members,
            stride=stride,
        )
        row, words = phase_row(phase, self.examples[shape])
        self._phases.append(row._replace(table=len(self._words)) if words else row)
        self._words += words
        return len(self._phases) - 1


def is_plain(dimension: Dimension) -> bool:
    """True if links between two NPUs follow from a rule, which is the same at every place.

    Switches with limits take times that depend on the size, which is not known there.
    """
    shape = dimension.shape
    by_rule = shape.kernel_code != TABLE and (shape.uniform or shape.cyclic)
    return by_rule and dimension.in_network is None


def _links(dimensions: Sequence[Dimension]) -> NDArray[np.void]:
    """(X,) LINK of *dimensions*; zero of those that are not plain."""
    plain = np.array([is_plain(one) for one in dimensions])
    links = np.zeros(len(dimensions), LINK)
    links[plain] = machine_of([one for one in dimensions if is_plain(one)]).links
    return links


def _system(system: System) -> tuple[int, int, int, int]:
    return (
        system.chunks,
        system.active_chunks_per_dimension,
        system.endpoint_delay_ns,
        int(system.collective_optimization == "local_bw_aware"),
    )


def _passes(dimensions: int) -> tuple[Ints, Ints]:
    """Passes of chunks by kind, awareness and dimensions used, see ``PhaseTable``."""
    masks = 1 << dimensions
    first, passes = np.zeros((len(KINDS), 2, masks + 1), np.int64), list[tuple[int, int]]()
    for at, kind in enumerate(KINDS):
        for aware in range(2):
            for mask in range(masks):
                first[at, aware, mask] = len(passes)
                used = [d for d in range(dimensions) if mask >> d & 1]
                passes += [(d, _number(k)) for d, k in passes_of_chunk(kind, used, bool(aware))]
            first[at, aware, masks] = len(passes)
    return first, np.array(passes, np.int64)


def _number(kind: CollectiveKind) -> int:
    return KINDS.index(kind)
