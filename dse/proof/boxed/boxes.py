"""Boxes of designs: the same machine but for its bandwidths, which lie between two corners.

A bound on time falls and a price rises with bandwidth, so that the fastest corner bounds the time
of every design of a box, and the slowest corner its price.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dse.proof.designs import PLAN, Rows
from dse.proof.parts.part import Places
from dse.proof.scenarios import Known
from dse.space import KnobBlock, Parameter, Space, Value
from simcore import ConfigError, parse_quantity, plain_sum

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Values = tuple[float, ...]

_PART = 1 << 18
_ASKED = 64
_MOST_WAYS = 1 << 22
"""Designs of some plans that are bounded together."""

_MACHINE = ("platform.",)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box:
    """Designs of one machine between two corners.

    Attributes:
        low: Per block the row of the slowest corner; of blocks that are no ladder, any of the
            machine's rows.
        high: Likewise of the fastest corner.
        values: Per objective, a lower bound.
        stage: What is known of its designs: nothing, floors of their plans, or their bounds.
        rows: (N, blocks) plans that may be good; in the last stage, designs at the fastest corner.
        times_s: (N,) their floors or bounds.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    values: Values
    stage: Literal["machine", "plans", "designs"] = "machine"
    rows: Rows = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    times_s: Floats = field(default_factory=lambda: np.zeros(0))


class Boxes:
    """All designs with one number of dimensions, as boxes."""

    def __init__(
        self, space: Space, dimensions: int, known: Known, ranges: Collection[str] = ()
    ) -> None:
        """*ranges*: names of knobs whose rungs have designs between them."""
        self._known = known
        blocks = space.blocks
        self._tables = [block.tables[dimensions] for block in blocks]
        self.ladders = [
            index
            for index, block in enumerate(blocks)
            if _is_ladder(block, space.parameters) and self._tables[index].shape[0] > 1
        ]
        self._ranges = [at for at in self.ladders if blocks[at].names[0] in ranges]
        machine = [_columns(block, space.parameters, _MACHINE) for block in blocks]
        self._heads = [
            [np.arange(table.shape[0])] if index in self.ladders else _same(table, columns)
            for index, (table, columns) in enumerate(zip(self._tables, machine, strict=True))
        ]
        self._least_s = 0.0
        self._plan = [
            i for i, block in enumerate(blocks) if _columns(block, space.parameters, PLAN)
        ]
        unbounded = set(range(len(blocks))) - known.bounded_blocks
        self._alike = [i for i in sorted(unbounded) if not machine[i]]
        self._ways = [
            i
            for i in range(len(blocks))
            if i not in self._plan and i not in self.ladders and i not in self._alike
        ]
        self._kinds = {
            index: _same(self._tables[index], _without(known.algorithms, index, blocks[index]))
            for index in self._ways
        }
        self._ways_of_plan = prod(max(map(len, self._heads[i])) for i in self._ways)
        if self._ways_of_plan > _MOST_WAYS:
            rule = (
                f"a gap is proven where a plan can be run in at most {_MOST_WAYS:,} ways "
                "(algorithms, chunks, order): let fewer of them vary"
            )
            raise ConfigError("space", rule, got=self._ways_of_plan)

    def whole(self) -> Iterator[Box]:
        """A box per machine that has a price, with the least time of all plans as its bound."""
        self._least_s = self._floor_s()
        for heads in product(*self._heads):
            low = tuple(int(head[0]) for head in heads)
            high = tuple(
                int(head[-1] if index in self.ladders else head[0])
                for index, head in enumerate(heads)
            )
            for slow, fast in self._sold(low, high):
                values = self.values(slow, self._least_s)
                assert values is not None, "parts begin where a machine is sold"
                yield Box(low=slow, high=fast, values=values)

    def _sold(
        self, low: tuple[int, ...], high: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Corners of the parts of a box whose slowest machine has a price; the others have none.

        Whether a machine is sold may hang on each bandwidth in a way of its own (a dimension that
        shares the ports of the one before needs less than that has), but on no two ways of one: if
        any is sold, one at a corner is.
        """
        if self.values(low, 1.0) is not None:
            yield low, high
            return
        if not self._is_sold_at_a_corner(low, high):
            return
        wide = [at for at in self.ladders if high[at] - low[at] > (at in self._ranges)]
        if not wide:
            rule = "a gap along ranges needs machines that are sold where all of these begin"
            raise ConfigError("space", rule, got="one that is not, though a faster one is")
        index = max(wide, key=lambda at: high[at] - low[at])
        middle = (low[index] + high[index]) // 2
        yield from self._sold(low, _with(high, index, middle))
        yield from self._sold(_with(low, index, middle + (index not in self._ranges)), high)

    def _is_sold_at_a_corner(self, low: tuple[int, ...], high: tuple[int, ...]) -> bool:
        """True if a machine has a price whose every bandwidth is that of either corner."""
        ends = [dict.fromkeys((low[at], high[at])) for at in self.ladders]
        for corner in product(*ends):
            row = low
            for index, rung in zip(self.ladders, corner, strict=True):
                row = _with(row, index, rung)
            if self.values(row, 1.0) is not None:
                return True
        return False

    def values(self, row: Sequence[int], time_s: float) -> Values | None:
        """Objectives of the machine of *row* at an iteration time; None where it has no price."""
        prices = self._known.prices(row)
        if prices is None:
            return None
        return tuple(amount * time_s**power for amount, power in prices)

    def all_values(self, box: Box) -> Floats:
        """(N, objectives) lower bounds of the designs of *box*."""
        prices = self._known.prices(box.low)
        assert prices is not None
        columns = [amount * box.times_s**power for amount, power in prices]
        return np.stack(columns, axis=1)

    def with_plans(self, box: Box, dealt: Callable[[int], Places]) -> Box:
        """*box* with its plans and the least times of their computing.

        Args:
            box: A machine.
            dealt: Gives the places of the plans that are wanted, among so many.
        """
        rows = np.array([box.high], np.int32)
        for index in self._plan:
            rows = self._crossed(rows, index)
        rows = rows[dealt(len(rows))]
        times_s = self._roomy_s(rows)
        box = replace(box, stage="plans")
        return self.kept(box, rows, times_s, np.isfinite(times_s))

    def first_plans(
        self, box: Box, wanted: int, covered: Callable[[Floats], Flags]
    ) -> tuple[Box, Box]:
        """The designs of at most *wanted* plans with the least floors, and a box of the others.

        Of these plans, those that are *covered* even on a network that takes no time are left out.
        """
        wanted = max(1, min(wanted, _MOST_WAYS // self._ways_of_plan))
        order = np.argsort(box.times_s, kind="stable")
        rows = box.rows[order[:wanted]]
        rows = rows[self._known.fit(rows)]
        alone = replace(box, times_s=self._known.compute_times_s(rows))
        rows = rows[~covered(self.all_values(alone))]
        rows = self._in_all_ways(box, rows, covered)
        rest = np.zeros(len(order), np.bool_)
        rest[order[wanted:]] = True
        others = self.kept(box, box.rows, box.times_s, rest)
        return self.bounded(replace(box, stage="designs"), rows), others

    def _in_all_ways(self, box: Box, rows: Rows, covered: Callable[[Floats], Flags]) -> Rows:
        """The designs of the plans in *rows*, but for those that no algorithm keeps from cover."""
        heads = {index: self._head(rows, index) for index in self._ways} if len(rows) else {}
        for index, head in heads.items():
            firsts = [kind[0] for kind in self._kinds[index] if kind[0] in head]
            rows = _with_each(rows, index, np.array(firsts))
        if heads and len(rows):
            best_s = self._known.times_s(self._at_corner(box, rows), heads)
            rows = rows[~covered(self.all_values(replace(box, times_s=best_s)))]
        for index in heads:
            parts = [
                _with_each(rows[rows[:, index] == kind[0]], index, kind)
                for kind in self._kinds[index]
            ]
            rows = np.concatenate([part for part in parts if len(part)] or [rows])
        return rows

    def alike(self, row: Rows) -> Rows:
        """The designs that no bound tells from that of *row*, ``(blocks,)``, and itself."""
        rows = row[np.newaxis]
        for index in self._alike:
            rows = self._crossed(rows, index)
        return rows

    def _crossed(self, rows: Rows, index: int) -> Rows:
        """*rows* with every row of a block that the same machine has."""
        return _with_each(rows, index, self._head(rows, index)) if len(rows) else rows

    def _head(self, rows: Rows, index: int) -> NDArray[np.int64]:
        """Rows of a block that the machine of *rows* has."""
        return next(head for head in self._heads[index] if rows[0, index] in head)

    def _at_corner(self, box: Box, rows: Rows) -> Rows:
        """*rows* at the fastest corner of *box*."""
        rows = rows.copy()
        rows[:, self.ladders] = [box.high[index] for index in self.ladders]
        return rows

    def slowest(self, box: Box, row: Rows) -> Rows:
        """The design of *row*, ``(blocks,)``, at the slowest corner of *box*."""
        row = row.copy()
        row[self.ladders] = [box.low[index] for index in self.ladders]
        return row

    def bounded(self, box: Box, rows: Rows) -> Box:
        """*box* with *rows* at its fastest corner and their bounds; without those that fail."""
        rows = self._at_corner(box, rows)
        parts = [self._known.times_s(rows[at : at + _PART]) for at in range(0, len(rows), _PART)]
        times_s = np.concatenate(parts) if parts else np.zeros(0)
        return self.kept(box, rows, times_s, np.isfinite(times_s))

    def kept(self, box: Box, rows: Rows, times_s: Floats, chosen: NDArray[np.bool_]) -> Box:
        """*box* with the *chosen* ones of its designs, and the bound that they leave."""
        rows, times_s = rows[chosen], times_s[chosen]
        values = self.values(box.low, float(times_s.min())) if times_s.size else box.values
        assert values is not None
        return replace(box, rows=rows, times_s=times_s, values=values)

    def trimmed(self, box: Box, covered: Callable[[Floats], Flags]) -> Box:
        """*box* without the fastest rungs of each ladder that cost too much, whatever the plan.

        A rung is too dear where a machine that has it and the lowest rungs of the other ladders is
        *covered* even at the least time of the box, or no machine has it.
        """
        least_s = float(box.times_s.min()) if box.times_s.size else self._least_s
        high = box.high
        for index in self.ladders:
            kept, dear = box.low[index], high[index] + 1
            while dear - kept > 1:
                rung = dear - 1 if dear > high[index] else (kept + dear) // 2
                slow, fast = _with(box.low, index, rung), _with(high, index, rung)
                values = self.values(slow, least_s)
                if values is None:
                    is_dear = not self._is_sold_at_a_corner(slow, fast)
                else:
                    is_dear = bool(covered(np.array([values]))[0])
                kept, dear = (kept, rung) if is_dear else (rung, dear)
            top = min(high[index], kept + 1) if index in self._ranges else kept
            high = _with(high, index, top)
        if high == box.high:
            return box
        box = replace(box, high=high)
        return self.bounded(box, box.rows) if box.stage == "designs" else box

    def halves(self, box: Box) -> list[Box]:
        """*box* cut in two, or more, along the ladder that its price depends on most."""
        wide = [index for index in self.ladders if self._is_wide(box, index)]
        index = max(wide, key=lambda at: self._growth(box, at))
        middle = (box.low[index] + box.high[index]) // 2
        slow = replace(box, high=_with(box.high, index, middle))
        next_one = middle + (index not in self._ranges)
        fast = replace(box, low=_with(box.low, index, next_one))
        parts = [replace(fast, low=low, high=high) for low, high in self._sold(fast.low, fast.high)]
        every = np.ones(len(box.rows), np.bool_)
        return [
            self.bounded(slow, box.rows),
            *(
                self.kept(part, box.rows, box.times_s, every)
                if part.high == box.high
                else self.bounded(part, box.rows)
                for part in parts
            ),
        ]

    def is_corner(self, box: Box) -> bool:
        """True if there is nothing left to cut in half."""
        return not any(self._is_wide(box, index) for index in self.ladders)

    def _is_wide(self, box: Box, index: int) -> bool:
        return box.high[index] - box.low[index] > (index in self._ranges)

    def _growth(self, box: Box, index: int) -> float:
        """Growth of the objectives along a ladder; infinite where its end cannot be built."""
        ends = [self.values(_with(box.low, index, at[index]), 1.0) for at in (box.low, box.high)]
        low, high = ends
        if low is None or high is None:
            return inf
        return plain_sum(b / a for a, b in zip(low, high, strict=True))

    def _floor_s(self) -> float:
        """The least time that computing takes with any plan of any machine."""
        rows = np.zeros((1, len(self._tables)), np.int32)
        for index in self._plan:
            count = self._tables[index].shape[0]
            crossed = np.repeat(rows, count, axis=0)
            crossed[:, index] = np.tile(np.arange(count), rows.shape[0])
            rows = crossed
        return float(self._roomy_s(rows).min())

    def _roomy_s(self, rows: Rows) -> Floats:
        """Floors of the plans of *rows*; infinite where one does not fit into the memory.

        Memory is asked for the plans with the least floors, until one of them fits: of the others
        few will ever be looked at.
        """
        times_s = self._known.plan_times_s(rows)
        order = np.argsort(times_s, kind="stable")[: np.isfinite(times_s).sum()]
        for at in range(0, len(order), _ASKED):
            part = order[at : at + _ASKED]
            fit = self._known.fit(rows[part])
            times_s[part[~fit]] = np.inf
            if fit.any():
                break
        return times_s


def _is_ladder(block: KnobBlock, parameters: Mapping[str, Parameter]) -> bool:
    """One bandwidth that no rule ties to others, in rising order."""
    name = block.names[0]
    return (
        len(block.names) == 1
        and name.endswith(".bandwidth")
        and name.startswith("platform.dimensions[")
        and list(parameters[name].choices) == sorted(parameters[name].choices, key=_rate)
    )


def _rate(value: Value) -> float:
    """A bandwidth in bytes per second, also where the file gives it with its unit."""
    return parse_quantity(value, "B/s") if isinstance(value, str) else float(value)


def _columns(
    block: KnobBlock, parameters: Mapping[str, Parameter], roots: tuple[str, ...]
) -> list[int]:
    """Positions of the knobs that set something under *roots*."""
    targets = [parameters[name].targets or (name,) for name in block.names]
    return [at for at, own in enumerate(targets) if any(p.startswith(roots) for p in own)]


def _without(algorithms: Sequence[tuple[int, int]], index: int, block: KnobBlock) -> list[int]:
    """Columns of a block that choose more than algorithms of collectives."""
    return [column for column in range(len(block.names)) if (index, column) not in algorithms]


def _with_each(rows: Rows, index: int, own: NDArray[np.int64]) -> Rows:
    """*rows* with each of the rows *own* of a block."""
    crossed = np.repeat(rows, own.size, axis=0)
    crossed[:, index] = np.tile(own, rows.shape[0])
    return crossed


def _same(table: NDArray[np.int32], columns: Sequence[int]) -> list[NDArray[np.int64]]:
    """Numbers of the rows that agree in *columns*, group by group."""
    _, group = np.unique(table[:, columns], axis=0, return_inverse=True)
    return [np.flatnonzero(group == number) for number in range(int(group.max()) + 1)]


def _with(corner: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    return (*corner[:index], value, *corner[index + 1 :])
