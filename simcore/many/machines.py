"""Machines and systems of many designs, as rows of the kernels' tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.grown import Grown
from simcore.collectives import IN_NETWORK, SYNTHESISED, algorithm_named, runnable
from simcore.engines.collectives.phases import Phase, passes_of_chunk
from simcore.engines.collectives.rows import machine_of, phase_row
from simcore.errors import ConfigError
from simcore.kernels.collectives.records import LINK, PHASE
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.kernels.many import tables
from simcore.kernels.many.row_times import mark_phases
from simcore.machine import Dimension
from simcore.machine.system import BY_TOPOLOGY, System
from simcore.many.parts import Accelerator, Facts, Numbered, PartRows, Parts
from simcore.many.places import Places
from simcore.many.plans import KINDS
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """Facts about parts of machines, by number.

    Attributes:
        shape: Number of a dimension's topology and NPUs.
        link: LINK of a dimension.
        shares_ports: Whether a dimension is a further level of the one before.
        system: Number of what the kernels read of a system.
        row: What they read of it.
        vector: Algorithms that a system names, see ``Machines.vectors``.
        suited: The algorithm that suits a shape.
        rate: Bytes per second of an accelerator's memory, rounded as the unfolded engine's.
    """

    shape: Facts[Dimension]
    link: Facts[Dimension]
    shares_ports: Facts[Dimension]
    system: Facts[System]
    row: Facts[tuple[int, int, int, int]]
    vector: Facts[System]
    suited: Facts[tuple[str, int]]
    rate: Facts[Accelerator]


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
    _phases: Grown = field(default_factory=lambda: Grown(PHASE))
    _words: Grown = field(default_factory=lambda: Grown(np.int64))
    _phase_of: Ints = field(default_factory=lambda: np.zeros((len(KINDS), 0, 0, 0), np.int64))
    _passes: tuple[Ints, Ints] = field(init=False)
    _about: "_Known" = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.dimensions)
        self._passes = _passes(self.dimensions)
        self._about = _Known(
            shape=Facts(self._shape, np.int64),
            link=Facts(_link, LINK),
            shares_ports=Facts(lambda one: one.shares_ports, np.bool_),
            system=Facts(lambda one: self.systems.number(_system(one)), np.int64),
            row=Facts(lambda row: row, tables.SYSTEM),
            vector=Facts(self._vector, np.int64, (len(KINDS), self.dimensions)),
            suited=Facts(self._suited, np.int64),
            rate=Facts(lambda one: one[0].memory_bandwidth_bytes_per_s / 1e9 * 1e9, np.float64),
        )

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
        about = self._about
        shape = about.shape.about(dimensions)[part.dimensions]
        system = about.system.about(systems)[part.system]
        spots, members = self.places.arrays()
        return tables.MachineRows(
            plan=plan,
            system=system,
            systems=about.row.about(self.systems.things),
            links=about.link.about(dimensions)[part.dimensions],
            shares_ports=about.shares_ports.about(dimensions)[part.dimensions],
            shape=shape,
            algorithm=self._algorithm(part.system, shape, systems),
            place=place,
            spots=spots,
            members=members,
            memory_bytes_per_s=about.rate.about(parts.accelerators.things)[part.accelerator],
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
            phases=self._phases.array(),
            words=self._words.array(),
        )

    def _shape(self, dimension: Dimension) -> int:
        number = self.shapes.number((dimension.topology, dimension.npus))
        if number == len(self.examples):
            self.examples.append(dimension)
        return number

    def _algorithm(self, system: Ints, shape: Ints, systems: Sequence[System]) -> Ints:
        """(N, kinds, D) int64: the algorithm of each kind in each dimension."""
        named = self.vectors(systems)[system]
        suited = self._about.suited.about(self.shapes.things)
        by_topology = self.algorithms.number(BY_TOPOLOGY)
        return np.where(named == by_topology, suited[shape][:, None, :], named)

    def vectors(self, systems: Sequence[System]) -> Ints:
        """(S, kinds, D) int64: algorithms that *systems* name; -1 of a system not run at once.

        Such has too many or few of them, schedules that are made for its network, or sums that not
        all switches do.

        Args:
            systems: All that there are; those known before keep their places.
        """
        return self._about.vector.about(systems)

    def _vector(self, system: System) -> list[list[int]]:
        """``vectors`` of one system."""
        try:
            names = [system.vector(kind, self.dimensions) for kind in KINDS]
        except ConfigError:
            names = []
        if not names or any({SYNTHESISED, IN_NETWORK} & set(own) for own in names):
            return [[-1] * self.dimensions] * len(KINDS)
        return [[self.algorithms.number(one) for one in own] for own in names]

    def _suited(self, shape: tuple[str, int]) -> int:
        """The algorithm that suits a topology."""
        return self.algorithms.number(TOPOLOGIES[shape[0]].algorithm)

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
        self._words.extend(words)
        return len(self._phases) - 1


def is_plain(dimension: Dimension) -> bool:
    """True if links between two NPUs follow from a rule, which is the same at every place.

    Switches with limits take times that depend on the size, which is not known there.
    """
    shape = dimension.shape
    by_rule = shape.kernel_code != TABLE and (shape.uniform or shape.cyclic)
    return by_rule and dimension.in_network is None


def _link(dimension: Dimension) -> np.void:
    """LINK of a dimension; zero of one that is not plain."""
    plain = is_plain(dimension)
    links = machine_of([dimension]).links if plain else np.zeros(1, LINK)
    link: np.void = links[0]
    return link


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
