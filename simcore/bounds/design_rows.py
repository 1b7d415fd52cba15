"""Rows of the tables that bounds are worked out from, added as designs ask for them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.design_columns import PlanRows
from simcore.bounds.grown import Grown
from simcore.bounds.machines.machine_terms import (
    NO_NETWORK,
    Layout,
    Link,
    Numbered,
    PhaseTables,
    PlaceIndex,
    Places,
    system_row,
)
from simcore.bounds.plans.plan_terms import PlanTerms, plan_terms
from simcore.bounds.tier_floor import tier_floor_ns
from simcore.bounds.work_floor import WorkFloor
from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.errors import ConfigError, InfeasibleError
from simcore.kernels.bounds import tables as kernel_tables
from simcore.kernels.bounds.tables import BoundTables
from simcore.memo import Memo
from simcore.memory.latest import latest_footprint
from simcore.network import BACKENDS

Ints = NDArray[np.int64]

PlanFact = tuple[PlanTerms, float]

INFEASIBLE = -1
RATES = {"latency": ("latency",), "bandwidth": ("bandwidth", "efficiency", "oversubscription")}
"""Rates of a dimension, and the keys that they depend on."""


@dataclass(slots=True, eq=False)
class DesignRows:
    """The rows of the kernel's tables, as far as designs have asked for them.

    Attributes:
        dimensions: Of the network.
        layouts: NPUs and groups of plans.
        layout_of_plan: Per plan.
        link_rows: The kernel's, of the links that it has been shown.
        timed: Per system, whether times of messages are known from below.
        place_index: Finds the places of designs.
        phases: Costs of phases.
        rates: Per latency, then per bandwidth, its values in ns, and in ns per byte.
    """

    dimensions: int
    plans: PlanRows = field(default_factory=PlanRows)
    layouts: Numbered[Layout] = field(default_factory=Numbered)
    layout_of_plan: Grown = field(default_factory=lambda: Grown(np.int64))
    links: Numbered[Link] = field(default_factory=Numbered)
    link_rows: Grown = field(default_factory=lambda: Grown(kernel_tables.LINK))
    systems: Grown = field(default_factory=lambda: Grown(kernel_tables.SYSTEM))
    timed: Grown = field(default_factory=lambda: Grown(np.bool_))
    places: Places = field(init=False)
    place_index: PlaceIndex = field(init=False)
    phases: PhaseTables = field(default_factory=PhaseTables)
    rates: list[list[float]] = field(default_factory=list)
    footprint_bytes: Grown = field(default_factory=lambda: Grown(np.float64))
    work_ns: Grown = field(default_factory=lambda: Grown(np.float64))
    tiers_ns: Grown = field(default_factory=lambda: Grown(np.float64))
    work_floor: WorkFloor = field(default_factory=WorkFloor)
    packed: BoundTables | None = None
    packed_rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.rates = [[] for _ in range(2 * self.dimensions)]
        self.places = Places(self.dimensions)
        self.place_index = PlaceIndex(self.places)

    def plan_fact(self, run: Run) -> PlanFact | None:
        """Terms of a plan, and time per byte of the memory; None where it breaks a rule."""
        memo = self.work_floor.memo
        try:
            terms = memo.of("terms of plans", self.work_floor.key(run), lambda: _terms(run, memo))
        except InfeasibleError:
            return None
        return terms, 1e9 / run.platform.npu.memory_bandwidth_bytes_per_s

    def keep_plan(self, fact: PlanFact | None) -> int:
        if fact is None:
            return INFEASIBLE
        terms, memory_ns_per_byte = fact
        self.layout_of_plan.append(self.layouts.number((terms.npus, terms.groups)))
        return self.plans.add(terms, memory_ns_per_byte)

    def footprint_fact(self, run: Run) -> float | None:
        """Bytes on the fullest NPU; None where the plan breaks a rule."""
        try:
            needed = latest_footprint(run.workload, run.plan, self.work_floor.memo)
        except InfeasibleError:
            return None
        return float(needed.total_bytes)

    def keep_footprint(self, fact: float | None) -> int:
        return _kept(self.footprint_bytes, fact)

    def work_fact(self, run: Run) -> float | None:
        """Least time of the computing, in ns; None where the plan breaks a rule."""
        try:
            return self.work_floor.time_ns(run)
        except InfeasibleError:
            return None

    def keep_work(self, fact: float | None) -> int:
        return _kept(self.work_ns, fact)

    def add_tiers(self, run: Run) -> int:
        try:
            self.tiers_ns.append(tier_floor_ns(run, self.work_floor.memo))
        except (InfeasibleError, ConfigError):
            return INFEASIBLE
        return len(self.tiers_ns) - 1

    def add_system(self, run: Run) -> int:
        backend = BACKENDS[run.backend]
        # what computes lose may change the order in which slots serve: paths alone are certain
        meets = backend.messages_meet or bool(run.system.mover)
        self.systems.append(system_row(run.system, meets))
        self.timed.append(backend.has_bounds)
        return len(self.systems) - 1

    def add_link(self, dimension: int, run: Run) -> int:
        self._check(run)
        return self.links.number(Link.of(run.system, run.platform.dimensions, dimension))

    def any_links(self, found: Ints) -> Ints:
        """Kinds of link that are one of several, (N,) of those *found*, (ways, N)."""
        distinct, place = np.unique(found, axis=1, return_inverse=True)
        known = self.links.things
        numbers = [
            self.links.number(Link.any_of([known[at] for at in sorted({*column})]))
            for column in distinct.T.tolist()
        ]
        return np.array(numbers, np.int64)[place.reshape(-1)]

    def add_rate(self, dimension: int, name: str, run: Run) -> int:
        self._check(run)
        where = run.platform.dimensions[dimension]
        table = self.rates[list(RATES).index(name) * self.dimensions + dimension]
        is_latency = name == "latency"
        table.append(
            where.latency_s * 1e9 if is_latency else 1e9 / where.usable_bandwidth_bytes_per_s
        )
        return len(table) - 1

    def _check(self, run: Run) -> None:
        found = len(run.platform.dimensions)
        if found != self.dimensions:
            rule = f"designs must have as many as the run file ({self.dimensions})"
            raise ConfigError("platform.dimensions", rule, got=found)

    def places_of(self, picks: Ints) -> Ints:
        """Place of each design, ``INFEASIBLE`` where it has no plan.

        Messages of networks without bounds may arrive at once.
        """
        npus = np.array([link.npus for link in self.links.things], np.int64)
        layout = self.layout_of_plan.array_and(INFEASIBLE)[picks[:, 0]]
        found = self.place_index.find(self.layouts.things, npus, layout, picks[:, 3:])
        is_timed = self.timed.array()[picks[:, 2]]
        return np.where(is_timed | (found < 0), found, NO_NETWORK)

    def tables(self) -> BoundTables:
        """The kernel's tables, packed anew where rows have come."""
        tables = self.plans.plans, self.links.things, self.systems, self.places
        rows = tuple([len(table) for table in tables])
        if self.packed is None or rows != self.packed_rows:
            links = self.links
            self.link_rows.extend(link.row for link in links.things[len(self.link_rows) :])
            extents, phases = self.phases.arrays(self.places.extents.numbers, links.numbers)
            self.packed = BoundTables(
                **self.plans.arrays(),
                places=self.places.where.array(),
                members=self.places.members.array(),
                messages=self.places.messages.array(),
                extents=extents,
                phases=phases,
                links=self.link_rows.array(),
                systems=self.systems.array(),
            )
            self.packed_rows = rows
        return self.packed


def _terms(run: Run, memo: Memo) -> PlanTerms:
    compute = COMPUTE_MODELS[run.compute]()
    return plan_terms(run.workload, run.plan, run.platform.npu, compute, memo)


def _kept(table: Grown, value: float | None) -> int:
    """Row of *value* in *table*, which it joins."""
    if value is None:
        return INFEASIBLE
    table.append(value)
    return len(table) - 1
