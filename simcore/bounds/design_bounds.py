"""Lower bounds of the iteration times of many designs, and their footprints."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.design_columns import Codes, ColumnSet
from simcore.bounds.design_rows import RATES, DesignRows
from simcore.bounds.facts import Facts, FactSet
from simcore.bounds.machines.machine_terms import (
    NO_NETWORK,
)
from simcore.bounds.tier_floor import may_offload
from simcore.bounds.work_floor import NOT_WORK, WorkFloor
from simcore.config import Run, RunTemplate
from simcore.errors import ConfigError
from simcore.kernels.bounds.time_bound import time_bounds
from simcore.kernels.bounds.traffic_floor import traffic_floors
from simcore.machine.graph_dimensions import is_network
from simcore.machine.native import NATIVE, NATIVE_KEYS, is_native
from simcore.machine.system import ALGORITHM_KEYS
from simcore.memo import Memo

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK = 1 << 15
_SAFETY = 1 - 1e-12  # far more than the rounding of a few hundred sums
_SYSTEM_KEYS = (
    "chunks",
    "active_chunks_per_dimension",
    "endpoint_delay",
    "collective_optimization",
    "inter_dimension",
    "phase_end",
    "execution",
)


class DesignBounds:
    """Facts about designs that are certain without simulating them.

    Built once for a run file and the choices of its knobs; plans, places and links are worked out
    when a design first asks for them. The number of network dimensions is that of the run file.
    """

    def __init__(
        self,
        template: RunTemplate,
        choices: Mapping[str, Sequence[Any]],
        memo: Memo | None = None,
    ) -> None:
        """Prepare the tables.

        Args:
            template: The run file, for everything that the designs do not set.
            choices: By path in the run file, the values that designs choose from.
            memo: Knowledge of plans, such as that of ``RunChecks``; None: nothing is known.

        Raises:
            ConfigError: The machine's network is a graph, or part of it is.
        """
        _refuse_networks(template.table["platform"])
        self._count = len(template.table["platform"]["dimensions"])
        floor = WorkFloor.known_to(Memo() if memo is None else memo)
        self._rows = DesignRows(dimensions=self._count, work_floor=floor)

        listed = {path: tuple(values) for path, values in choices.items()}

        part = partial(_column_set, template, listed)
        rows = self._rows
        self._facts = _fact_sets(template, listed, rows)
        self._plan, self._work, self._fill = self._facts.values()
        self._tiers = None
        if may_offload(template, choices):
            sizes = [f"platform.dimensions[{d}].npus" for d in range(self._count)]
            holders = ("stack", "workload", "plan", "platform.tiers", *sizes)
            self._tiers = part(rows.add_tiers, *holders)
        self._system = part(rows.add_system, "backend", *(f"system.{key}" for key in _SYSTEM_KEYS))
        places = [f"platform.dimensions[{d}]" for d in range(self._count)]
        shared = _native_roots(template, choices, places)
        self._links = [
            part(
                partial(rows.add_link, d), f"{place}.topology", f"{place}.npus", *shared,
                *(path for key in ALGORITHM_KEYS for path in (f"system.{key}[{d}]",)),
            )
            for d, place in enumerate(places)
        ]  # fmt: skip
        self._rates = [
            part(partial(rows.add_rate, d, name), *(f"{places[d]}.{key}" for key in keys), *shared)
            for name, keys in RATES.items()
            for d in range(self._count)
        ]

    def worked_out(self) -> dict[tuple[str, int], bytes]:
        """Facts of plans that were worked out here since this was last asked, packed.

        Before it is asked for the first time, none is kept for that.
        """
        return {
            (name, key): fact
            for name, part in self._facts.items()
            for key, fact in part.worked_out().items()
        }

    def take(self, facts: Facts) -> None:
        """Take facts of plans that bounds of the same run file and choices have worked out."""
        for name, part in self._facts.items():
            part.take({key: fact for (own, key), fact in facts.items() if own == name})

    @property
    def paths(self) -> frozenset[str]:
        """The columns that bounds and footprints depend on; the others change neither."""
        parts = [self._plan, self._work, self._fill, self._system, *self._links, *self._rates]
        parts += [self._tiers] if self._tiers else []
        return frozenset(path for part in parts for path in part.paths)

    @property
    def algorithms(self) -> frozenset[str]:
        """The columns that choose algorithms of collectives."""
        return frozenset(p for part in self._links for p in part.paths if p.startswith("system."))

    def times_s(
        self,
        codes: Codes,
        *,
        within_capacity: bool = False,
        ways: Mapping[str, Sequence[int]] | None = None,
    ) -> Floats:
        """Lower bounds of the iteration times, never above what the simulator says.

        Args:
            codes: By path, (N,) positions in the choices; -1 leaves the run file's own value.
            within_capacity: Bound those designs alone whose links carry no more than they can
                (``IterationResult.link_loads`` up to 1): none is sooner done than its collectives
                pass its links. The simulated times of others may be shorter.
            ways: By path among ``algorithms``, positions in its choices in place of those in
                *codes*: the bound is one for all designs that take any of them.

        Returns:
            (N,) float64; infinite where a plan or the place of a group breaks a rule.

        Raises:
            ConfigError: A value is not allowed in a run file.
        """
        bounds_s = self._all_s(codes, ways=ways or {}, within_capacity=within_capacity)
        return np.maximum(bounds_s, self._tiers_s(codes))

    def compute_times_s(self, codes: Codes) -> Floats:
        """``times_s`` with a network that takes no time and any number of NPUs.

        A bound for every machine with the NPU and every system: only the plan matters.
        """
        return self._all_s(codes, has_network=False)

    def _all_s(
        self,
        codes: Codes,
        *,
        has_network: bool = True,
        ways: Mapping[str, Sequence[int]] | None = None,
        within_capacity: bool = False,
    ) -> Floats:
        """Least times of computing, and of a network if there is one; see ``times_s``."""
        designs = len(next(iter(codes.values()))) if codes else 1
        bounds = np.empty(designs)
        for begin in range(0, designs, _BLOCK):
            block = slice(begin, min(begin + _BLOCK, designs))
            picks, rates = self._picks(codes, block, has_network, ways or {})
            tables, longest = self._rows.tables(), self._rows.plans.longest
            found = time_bounds(tables, picks, rates, np.array(longest, np.int64))
            if within_capacity:  # links carry what collectives send over them
                found = np.maximum(found, traffic_floors(tables, picks, rates, longest[0]))
            bounds[block] = found
        return np.maximum(bounds * (1e-9 * _SAFETY), self._work_s(codes))

    def floor_times_s(self, codes: Codes) -> Floats:
        """Looser bounds that are known sooner: of computing and of ports of tiers of memory alone.

        Args:
            codes: As for ``times_s``.

        Returns:
            (N,) float64; infinite where the plan does not fit the workload.
        """
        return np.maximum(self._work_s(codes), self._tiers_s(codes))

    def _work_s(self, codes: Codes) -> Floats:
        """Least times of the computing alone."""
        designs = len(next(iter(codes.values()))) if codes else 1
        rows = self._work.rows(codes, slice(0, designs))
        table = self._rows.work_ns.array_and(np.inf)  # row -1 is the last one
        return np.broadcast_to(table[rows] * (1e-9 * _SAFETY), (designs,)).copy()

    def _tiers_s(self, codes: Codes) -> Floats | float:
        """Least times of ports of tiers; 0 where no design has any."""
        if self._tiers is None:
            return 0.0
        designs = len(next(iter(codes.values()))) if codes else 1
        rows = self._tiers.rows(codes, slice(0, designs))
        table = self._rows.tiers_ns.array_and(0.0)  # row -1, of what cannot be told, is the last
        return np.broadcast_to(table[rows] * (1e-9 * _SAFETY), (designs,)).copy()

    def footprint_bytes(self, codes: Codes) -> Floats:
        """Bytes on the fullest NPU, as ``footprint`` gives them; infinite where the plan is not.

        Args:
            codes: As for ``times_s``.

        Returns:
            (N,) float64, whole numbers.
        """
        designs = len(next(iter(codes.values()))) if codes else 1
        rows = self._fill.rows(codes, slice(0, designs))
        table = self._rows.footprint_bytes.array_and(np.inf)  # row -1 is the last one
        return np.broadcast_to(table[rows], (designs,)).copy()

    def _picks(
        self, codes: Codes, block: slice, has_network: bool, ways: Mapping[str, Sequence[int]]
    ) -> tuple[Ints, Floats]:
        """Rows of the designs in the tables, and rates of their links."""
        rows, size = self._rows, block.stop - block.start
        picks = np.empty((size, 3 + self._count), np.int64)
        rates = np.empty((size, 2 * self._count))
        picks[:, 0] = self._plan.rows(codes, block)
        picks[:, 2] = self._system.rows(codes, block)
        for d, part in enumerate(self._links):
            picks[:, 3 + d] = self._link_rows(part, codes, block, ways)
        for column, part in enumerate(self._rates):
            found = part.rows(codes, block)
            rates[:, column] = np.array(rows.rates[column])[found]
        picks[:, 1] = rows.places_of(picks) if has_network else NO_NETWORK
        return picks, rates

    def _link_rows(
        self, part: ColumnSet, codes: Codes, block: slice, ways: Mapping[str, Sequence[int]]
    ) -> Ints | int:
        """Kinds of link of one dimension; with *ways*, those that are one of several."""
        own = [path for path in part.paths if path in ways]
        if not own:
            return part.rows(codes, block)
        size, found = block.stop, []
        for chosen in product(*(ways[path] for path in own)):
            columns = {path: np.full(size, code) for path, code in zip(own, chosen, strict=True)}
            found.append(part.rows({**codes, **columns}, block))
        return self._rows.any_links(np.stack(np.broadcast_arrays(*found)))


def _column_set(
    template: RunTemplate,
    choices: Mapping[str, tuple[Any, ...]],
    build: Callable[[Run], int],
    *roots: str,
) -> ColumnSet:
    return ColumnSet(template=template, choices=choices, roots=roots, build=build)


def _fact_sets(
    template: RunTemplate, choices: Mapping[str, tuple[Any, ...]], rows: DesignRows
) -> dict[str, FactSet]:
    """Parts that depend on plans alone: their terms, least times of computing, and footprints."""
    filled = ("stack", "workload", "plan")
    work = (*filled, "platform.npu", "compute")
    ways = (*work, "system.execution")
    return {
        "plan": FactSet(template, choices, work, rows.plan_fact, keep=rows.keep_plan),
        "work": FactSet(
            template, choices, ways, rows.work_fact, without=NOT_WORK, keep=rows.keep_work
        ),
        "fill": FactSet(template, choices, filled, rows.footprint_fact, keep=rows.keep_footprint),
    }


def _refuse_networks(platform: Mapping[str, Any]) -> None:
    whole = platform.get("network") is not None
    if whole or any(map(is_network, platform["dimensions"])):
        rule = "must be dimensions: no bounds are known of networks that are graphs"
        raise ConfigError("platform.network", rule, got="a network")


def _native_roots(
    template: RunTemplate, choices: Mapping[str, Sequence[Any]], places: Sequence[str]
) -> list[str]:
    """Paths that all links depend on where some are those of the accelerator; else none."""
    chosen = any(NATIVE in values for values in choices.values())
    if not chosen and not any(map(is_native, template.table["platform"]["dimensions"])):
        return []
    keys = ("npus", "shares_ports", *NATIVE_KEYS)
    return ["platform.npu", *(f"{place}.{key}" for place in places for key in keys)]
