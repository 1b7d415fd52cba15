"""Runs of many designs, those together whose programs have one structure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.members import Subsystem
from simcore.engines.stages.code import PipelineCode
from simcore.engines.stages.piece_code import SharedCollective
from simcore.engines.stages.plan_code import PlanCode
from simcore.engines.stages.run import Workspace, layout_of
from simcore.kernels.many import stage_rows as k
from simcore.kernels.many import tables
from simcore.machine.system import ExecutionProfile
from simcore.many.lists import Lists, shared_rows
from simcore.many.parts import Numbered, distinct_pairs
from simcore.many.plans import PlanRow
from simcore.memo import Key
from simcore.workload.graph import PassPhase

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_PHASES = frozenset(map(str, PassPhase))


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
        for group, own in _grouped(what, rows, attempt):
            group.run(what, own, workspace, found)
        rows = rows[found.state[rows] == k.NO_PERIOD]
        attempt += 1
    return found


def _grouped(what: Prepared, rows: Ints, attempt: int) -> Iterator[tuple["_Group", Ints]]:
    """Designs of *rows* whose runs number *attempt* have one code and layout."""
    plans, plan = np.unique(what.plan[rows], return_inverse=True)
    known = [what.plans[number].known for number in plans.tolist()]
    programs = [one.keyed(one.runs[attempt]) for one in known]
    places = np.argsort([program.place for program in programs], kind="stable")
    structures: Numbered[Key] = Numbered()
    of_plan, firsts = np.zeros(plans.size, np.int64), list[PlanCode]()
    for at in places.tolist():
        of_plan[at] = structures.number(programs[at].structure)
        if of_plan[at] == len(firsts):
            firsts.append(known[at])
    few = len(what.profiles)
    key = (of_plan[plan] * few + what.profile[rows]) * 2 + what.times.instant[rows]
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    keys = key[order][starts].tolist()
    for first, own in zip(keys, np.split(rows[order], starts[1:]), strict=True):
        rest, instant = divmod(first, 2)
        number, profile = divmod(rest, few)
        yield _Group(firsts[number], what.profiles[profile], bool(instant), attempt), own


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Designs with one structure.

    Attributes:
        first: Plan of one of them: its code is that of all.
        profile: Concurrency of an NPU.
        is_instant: Some collective takes no time.
        attempt: Number of the run of each plan.
    """

    first: PlanCode
    profile: ExecutionProfile
    is_instant: bool
    attempt: int

    def run(self, what: Prepared, rows: Ints, workspace: Workspace, found: Outcomes) -> None:
        """Run the designs *rows* of *what*; write what comes out to *found*."""
        code = self.first.code(self.first.runs[self.attempt])
        if code is None:
            found.state[rows] = k.NO_TIME
            return
        layout, at = layout_of(code, self.profile, instant=self.is_instant)
        live = workspace.words(layout.pool_end)
        categories, size = len(code.categories), rows.size
        out = k.Ended(
            state=np.zeros(size, np.int64),
            end_ns=np.zeros(size, np.int64),
            compute_s=np.zeros(size),
            exposed_s=np.zeros(size),
            bubble_s=np.zeros(size),
            category_s=np.zeros((size, categories)),
        )
        designs = self._designs(what, rows, code.shared)
        k.run_designs(_kernel_code(code), designs, what.times, live, at, out)
        found.state[rows], found.end_ns[rows] = out.state, out.end_ns
        ended = out.state == k.ENDED
        rows = rows[ended]
        found.put("compute_s", rows, out.compute_s[ended])
        found.put("exposed_communication_s", rows, out.exposed_s[ended])
        found.put("bubble_s", rows, out.bubble_s[ended])
        kinds = ["compute" if name in _PHASES else "exposed" for name in code.categories]
        named = [f"{k}_{name}_s" for k, name in zip(kinds, code.categories, strict=True)]
        for at_, name in enumerate(named):
            found.put(name, rows, out.category_s[ended, at_])
        # as in a single run, those of computing come first
        found.named[rows] = found.names.number(tuple(sorted(named, key=lambda n: n[0])))

    def _designs(
        self, what: Prepared, rows: Ints, between: Sequence[SharedCollective]
    ) -> k.Designs:
        numbers, plan = np.unique(what.plan[rows], return_inverse=True)
        plans = [what.plans[number] for number in numbers.tolist()]
        pairs, _, timed = distinct_pairs(what.plan[rows], what.accelerator[rows])
        shared, phases, words = self._shared(what, rows, between)
        return k.Designs(
            row=rows,
            plan=plan,
            stride=np.array([one.plan.stage_stride for one in plans], np.int64),
            left=np.array([p.known.batches - p.known.runs[self.attempt] for p in plans], np.int64),
            operator_ns=timed,
            operators=np.stack([what.operator_ns(*pair) for pair in pairs]),
            unique=np.stack([one.unique for one in plans]),
            links=what.links[rows],
            memory_bytes_per_s=what.memory_bytes_per_s[rows],
            shared=shared,
            phases=phases,
            words=words,
            lead_ns=what.lead_ns[rows],
        )

    def _shared(
        self, what: Prepared, rows: Ints, shared: Sequence[SharedCollective]
    ) -> tuple[NDArray[np.void], NDArray[np.void], Ints]:
        """Collectives between stages of each design, (N, K) SHARED, and the phases of these."""
        lists = what.lists
        if not shared:
            return np.zeros((rows.size, 0), k.SHARED), *lists.tables()
        keys, first, which = distinct_pairs(what.plan[rows], what.list_key[rows])
        found = [
            lists.find(
                (*key, self.attempt) if what.has_list_keys else None,
                what.plans[key[0]],
                shared,
                partial(what.subsystem, row),
            )
            for key, row in zip(keys, rows[first].tolist(), strict=True)
        ]
        return shared_rows(found, which), *lists.tables()


def _kernel_code(code: PipelineCode) -> k.Code:
    """The *code* as the kernels read it."""
    members = [len(one.stages) for one in code.shared]
    return k.Code(
        fixed=code.fixed,
        pieces=code.pieces,
        piece=code.piece,
        members=np.cumsum([0, *members], dtype=np.int64),
        member_stage=np.array([s for one in code.shared for s in one.stages], np.int64),
        item=np.array([one.item for one in code.shared], np.int64),
        is_phase=np.array([name in _PHASES for name in code.categories]),
        period_batches=code.period_batches,
    )
