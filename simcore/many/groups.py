"""Runs of many designs, those after one another whose programs have one structure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.members import Subsystem
from simcore.engines.stages.workspace import Workspace
from simcore.kernels.many import stage_rows as k
from simcore.kernels.many import tables
from simcore.machine.system import ExecutionProfile
from simcore.many.codes import Codes
from simcore.many.lists import Lists, side_by_side
from simcore.many.parts import Numbered, distinct_pairs
from simcore.many.plans import PlanRow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """N designs whose nodes have times, M of which are to be run.

    Attributes:
        plans: All plans that are known, by number.
        plan: (N,) int64, number among these.
        operator_ns: Times of the operators of a plan on an accelerator, by number of both.
        accelerator: (N,) int64.
        links, memory_bytes_per_s: As in ``MachineRows``.
        times: Of collectives and messages.
        profile: (N,) int64, number among *profiles*.
        subsystem: Machine and system of a design.
        list_key: (N,) int64, equal for designs of a plan that cut collectives between stages alike.
        has_list_keys: These mean the same in every block; else they tell its designs apart.
        lists: Collectives between stages.
        lead_ns: (N,) int64, delay of a message.
    """

    plans: Mapping[int, PlanRow]
    plan: Ints
    operator_ns: Callable[[int, int], Ints]
    accelerator: Ints
    links: NDArray[np.void]
    memory_bytes_per_s: Floats
    times: tables.RowTimes
    profile: Ints
    profiles: Sequence[ExecutionProfile]
    subsystem: Callable[[int], Subsystem]
    list_key: Ints
    has_list_keys: bool
    lists: Lists
    lead_ns: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcomes:
    """Iterations of N designs.

    Attributes:
        state: (N,) int64, outcomes of ``kernels.many.stage_rows``.
        end_ns: (N,) int64.
        columns: (N,) float64 each, means over the stages; NaN where a design has no such time.
        named: (N,) int64, number of the names of these times, in the order of a single run.
        names: By number.
    """

    state: Ints
    end_ns: Ints
    named: Ints
    columns: dict[str, Floats] = field(default_factory=dict)
    names: Numbered[tuple[str, ...]] = field(default_factory=Numbered)

    @classmethod
    def none(cls, designs: int) -> "Outcomes":
        """Outcomes of *designs*, none of which has run."""
        zeros = np.zeros(designs, np.int64)
        return cls(state=np.full(designs, k.UNDECIDED), end_ns=zeros, named=zeros.copy())

    def put(self, name: str, rows: Ints, values: Floats) -> None:
        """Write *values* of *rows* to a column."""
        if name not in self.columns:
            self.columns[name] = np.full(self.state.size, np.nan)
        self.columns[name][rows] = values


def run_groups(what: Prepared, rows: Ints, workspace: Workspace) -> Outcomes:
    """Run the designs *rows*: short runs first, longer ones where these show no steady state."""
    found = Outcomes.none(what.plan.size)
    attempt = 0
    while rows.size:
        _Runs.of(what, rows, attempt, found).run(workspace, found)
        rows = rows[found.state[rows] == k.NO_PERIOD]
        attempt += 1
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Runs:
    """N designs that are run with one kernel call, sorted by the structure of their programs.

    Attributes:
        what: These and others.
        attempt: Number of the run of each plan.
        rows: (N,) int64, which they are.
        plan: (N,) int64, number of the plan among *plans*.
        plans: Numbers of plans among all that are known.
        code: (N,) int64, number of the program among *codes*.
        codes: Programs.
    """

    what: Prepared
    attempt: int
    rows: Ints
    plan: Ints
    plans: Sequence[int]
    code: Ints
    codes: Codes

    @classmethod
    def of(cls, what: Prepared, rows: Ints, attempt: int, found: Outcomes) -> "_Runs":
        """Runs of those of *rows* that have programs; of the others it is noted that none runs."""
        numbers, plan = np.unique(what.plan[rows], return_inverse=True)
        plans = numbers.tolist()
        known = [what.plans[number].known for number in plans]
        codes, of_plan = Codes.of([one.parts(one.runs[attempt]) for one in known])
        code = of_plan[plan]
        found.state[rows[code < 0]] = k.NO_TIME
        kept = np.flatnonzero(code >= 0)
        kept = kept[
            np.lexsort((what.times.instant[rows[kept]], what.profile[rows[kept]], code[kept]))
        ]
        return cls(
            what=what,
            attempt=attempt,
            rows=rows[kept],
            plan=plan[kept],
            plans=plans,
            code=code[kept],
            codes=codes,
        )

    def run(self, workspace: Workspace, found: Outcomes) -> None:
        """Run the designs; write what comes out to *found*."""
        size, rows = self.rows.size, self.rows
        if not size:
            return
        codes = self.codes
        code, words = codes.tables(self.code, *self._concurrency())
        out = k.Ended(
            state=np.zeros(size, np.int64),
            end_ns=np.zeros(size, np.int64),
            compute_s=np.zeros(size),
            exposed_s=np.zeros(size),
            bubble_s=np.zeros(size),
            category_s=np.full((size, len(codes.categories)), np.nan),
        )
        fixed = np.empty(codes.longest, np.int64)
        k.run_designs(code, self._designs(), self.what.times, fixed, workspace.words(words), out)
        found.state[rows], found.end_ns[rows] = out.state, out.end_ns
        ended = out.state == k.ENDED
        rows = rows[ended]
        found.put("compute_s", rows, out.compute_s[ended])
        found.put("exposed_communication_s", rows, out.exposed_s[ended])
        found.put("bubble_s", rows, out.bubble_s[ended])
        for column, name in enumerate(codes.categories):
            found.put(name, rows, out.category_s[ended, column])
        named = np.array([found.names.number(names) for names in codes.names], np.int64)
        found.named[rows] = named[self.code[ended]]

    def _concurrency(self) -> tuple[Ints, Ints, Ints]:
        """(N,) int64 each: slots of computes, streams, and 1 where a collective takes no time."""
        what, profile = self.what, self.what.profile[self.rows]
        slots = np.array([one.compute_slots for one in what.profiles], np.int64)
        streams = np.array([one.communication_streams for one in what.profiles], np.int64)
        return slots[profile], streams[profile], what.times.instant[self.rows]

    def _designs(self) -> k.Designs:
        what = self.what
        plans = [what.plans[number] for number in self.plans]
        pairs, _, timed = distinct_pairs(what.plan[self.rows], what.accelerator[self.rows])
        operators, first_operator = side_by_side([what.operator_ns(*pair) for pair in pairs])
        unique, first_unique = side_by_side([one.unique for one in plans])
        shared, first_shared = self._shared()
        phases, words = what.lists.tables()
        runs = [one.known.batches - one.known.runs[self.attempt] for one in plans]
        return k.Designs(
            row=self.rows,
            plan=self.plan,
            stride=np.array([one.stride for one in plans], np.int64),
            left=np.array(runs, np.int64),
            first_operator=first_operator[timed],
            operators=operators,
            first_unique=first_unique,
            unique=unique,
            links=what.links,
            memory_bytes_per_s=what.memory_bytes_per_s,
            first_shared=first_shared,
            shared=shared,
            phases=phases,
            words=words,
            lead_ns=what.lead_ns,
        )

    def _shared(self) -> tuple[NDArray[np.void], Ints]:
        """Collectives between stages, SHARED, and (N,) int64, where those of a design begin."""
        what, lists, shared = self.what, self.what.lists, self.codes.shared
        first = np.zeros(self.rows.size, np.int64)
        has = np.flatnonzero(self.codes.joint[self.code] > 0)
        rows = self.rows[has]
        keys, examples, which = distinct_pairs(what.plan[rows], what.list_key[rows])
        found = [
            lists.find(
                (*key, self.attempt) if what.has_list_keys else None,
                what.plans[key[0]],
                shared[self.code[at]],
                partial(what.subsystem, int(self.rows[at])),
            )
            for key, at in zip(keys, has[examples].tolist(), strict=True)
        ]
        sizes = np.array([0, *map(len, found)], np.int64)
        first[has] = np.cumsum(sizes)[:-1][which]
        return np.array([one for own in found for one in own], k.SHARED), first
