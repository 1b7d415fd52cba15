"""Iterations of many designs whose programs have one structure, stage by stage."""

from typing import NamedTuple

import numpy as np

from simcore.kernels.collectives.phase_members import rounds_ends
from simcore.kernels.collectives.records import Floats, Ints, Machine, Records
from simcore.kernels.jit import njit
from simcore.kernels.many.tables import RowTimes
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.pointers import pointer
from simcore.kernels.records import record_of
from simcore.kernels.stages import pipeline_finale, pipeline_run
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout

ENDED, NO_TIME, NO_PERIOD, UNDECIDED, BELOW_ZERO = range(5)
"""Outcomes of a design: its iteration is known; a node takes no time; the run shows no steady
state that fills the iteration, so a longer one is asked for; the order of two events is not known
here; a time is negative.
"""

SHARED = record_of(np.int64, "phase", "chunk_bytes", "rounds", "delay_ns")
"""A collective between stages: its phase, size of a chunk, chunks one after another, and delay of a
message in ns; a phase of -1: it has more than one."""

_NS = 1e-9


class Code(NamedTuple):
    """The program of designs with one structure, as ``PipelineCode`` has it.

    Attributes:
        fixed: Which the kernels of the pipeline read.
        pieces: (P, PIECE_FIELDS) int64, without the times of messages.
        piece: Their address.
        members: (K + 1,) int64, where the members of each collective between stages begin.
        member_stage: Their stages.
        item: (K,) int64, number of each among the collectives.
        is_phase: (C,) bool, of each category: time under it is compute.
        period_batches: Micro-batches in a period of the schedule.
    """

    fixed: Ints
    pieces: Ints
    piece: int
    members: Ints
    member_stage: Ints
    item: Ints
    is_phase: Records
    period_batches: int


class Designs(NamedTuple):
    """N designs with one structure: where their times are.

    Attributes:
        row: (N,) int64, number in ``RowTimes``.
        plan: (N,) int64, number of the plan among these.
        stride: (P,) int64, distance of neighbouring stages in NPU ids, of each plan.
        left: (P,) int64, micro-batches that its iteration has beyond those of its run.
        operator_ns: (N,) int64, row in *operators*.
        operators: (T, O) int64, times of operators.
        unique: (P, C) int64, of each collective its number among those of the plan that differ.
        links: (N, D) LINK.
        memory_bytes_per_s: (N,) float64.
        shared: (N, K) SHARED.
        phases, words: Of the collectives between stages, and their step tables.
        lead_ns: (N,) int64, how long before the end of such a one its last step was scheduled.
    """

    row: Ints
    plan: Ints
    stride: Ints
    left: Ints
    operator_ns: Ints
    operators: Ints
    unique: Ints
    links: Records
    memory_bytes_per_s: Floats
    shared: Records
    phases: Records
    words: Ints
    lead_ns: Ints


class Ended(NamedTuple):
    """Iterations of N designs with C categories.

    Attributes:
        state: (N,) int64, one of the outcomes.
        end_ns: (N,) int64, of the iteration.
        compute_s, exposed_s, bubble_s: (N,) float64, means over the stages.
        category_s: (N, C) float64, likewise by category.
    """

    state: Ints
    end_ns: Ints
    compute_s: Floats
    exposed_s: Floats
    bubble_s: Floats
    category_s: Floats


@njit(cache=True)
def run_designs(
    code: Code, designs: Designs, times: RowTimes, live: Ints, at: Layout, out: Ended
) -> None:
    """Run all of *designs*, one after the other, in the memory *live*."""
    operators = designs.operators.shape[1]
    items = np.zeros(operators + designs.unique.shape[1] + 1, np.int64)
    leads = np.full(items.size, -1, np.int64)
    finish = np.zeros(at.stages, np.int64)
    booked = np.zeros((at.stages, at.categories + 1), np.int64)
    for number in range(designs.row.size):
        _gather_times(code, designs, times, number, items, leads)
        if not _takes_time(at.stages, items[:operators], times, designs.row[number]):
            out.state[number] = NO_TIME
            continue
        _write_times(code, times, designs.row[number], live, at, items, leads)
        out.state[number] = _run(code, designs, number, live, at)
        if out.state[number] == UNDECIDED:
            continue
        left = designs.left[designs.plan[number]]
        period = live[f.PERIODS] * code.period_batches
        if left > 0 and (period == 0 or left % period != 0):
            out.state[number] = NO_PERIOD
            continue
        _read(live, at, left // max(period, 1), finish, booked)
        _account(code, number, finish, booked, out)


@njit(cache=True)
def _gather_times(
    code: Code, designs: Designs, times: RowTimes, number: int, items: Ints, leads: Ints
) -> None:
    """Times of the operators and collectives of one design; of those between stages 0."""
    row, operators = designs.row[number], designs.operators.shape[1]
    items[:operators] = designs.operators[designs.operator_ns[number]]
    unique = designs.unique[designs.plan[number]]
    for item in range(unique.size):
        at = times.first[row] + unique[item]
        items[operators + item] = times.duration_ns[at]
        leads[operators + item] = times.last_ns[at]
    for shared in range(code.item.size):
        items[operators + code.item[shared]] = leads[operators + code.item[shared]] = 0


@njit(cache=True)
def _takes_time(stages: int, operator_ns: Ints, times: RowTimes, row: int) -> bool:
    """True if no compute node and no message ends in the moment in which it starts."""
    for time in operator_ns:
        if time <= 0:
            return False
    if stages > 1:
        for number in range(2 * stages):
            if times.message_ns[times.first_message[row] + number] <= 0:
                return False
    return True


@njit(cache=True)
def _write_times(
    code: Code, times: RowTimes, row: int, live: Ints, at: Layout, items: Ints, leads: Ints
) -> None:
    """Put the times of one design in the place of those of the one before."""
    fixed, first = code.fixed, times.first_message[row]
    for item in range(items.size):
        place = at.times + item * f.TIMES_FIELDS
        live[place + n.DURATION], live[place + n.LAST_STEP] = items[item], leads[item]
    size, known = code.pieces.size, 0
    for stage in range(at.stages):
        next_ns = previous_ns = 0
        if at.stages > 1:
            next_ns = times.message_ns[first + stage]
            previous_ns = times.message_ns[first + at.stages + stage]
        alike = 0
        while alike < known:
            piece = code.piece + alike * size
            if fixed[piece + f.NEXT_NS] == next_ns and fixed[piece + f.PREVIOUS_NS] == previous_ns:
                break
            alike += 1
        if alike == known:
            known += 1
            for number in range(code.pieces.shape[0]):
                piece = code.piece + alike * size + number * f.PIECE_FIELDS
                for field in range(f.NEXT_NS):
                    fixed[piece + field] = code.pieces[number, field]
                fixed[piece + f.NEXT_NS], fixed[piece + f.PREVIOUS_NS] = next_ns, previous_ns
        fixed[at.program + stage * f.PROGRAM_FIELDS + f.PIECES] = code.piece + alike * size


@njit(cache=True)
def _run(code: Code, designs: Designs, number: int, live: Ints, at: Layout) -> int:
    """Run one design to its end: ENDED, or UNDECIDED."""
    fixed_at, live_at = pointer(code.fixed), pointer(live)
    pipeline_run.start(fixed_at, live_at, at)
    while True:
        collective = pipeline_run.run(fixed_at, live_at, at)
        if collective < 0:
            return ENDED if collective == pipeline_run.FINISHED else UNDECIDED
        first, behind = code.members[collective], code.members[collective + 1]
        stages = code.member_stage[first:behind]
        starts, ends = np.empty(stages.size, np.int64), np.empty(stages.size, np.int64)
        ids = stages * designs.stride[designs.plan[number]]
        started = at.started + collective * (at.stages + 1) + 1
        for member in range(stages.size):
            starts[member] = live[started + stages[member]]
        earliest = starts.min()
        starts -= earliest
        shared = designs.shared[number, collective]
        if shared["phase"] < 0:
            return UNDECIDED
        machine = Machine(
            designs.links[number],
            np.zeros(0, np.int64),
            shared["delay_ns"],
            designs.memory_bytes_per_s[number],
        )
        phase = designs.phases[shared["phase"] : shared["phase"] + 1]
        size, rounds = shared["chunk_bytes"], shared["rounds"]
        if not rounds_ends(phase, designs.words, size, ids, machine, starts, ends, rounds):
            return UNDECIDED
        ends += earliest
        lead_ns = designs.lead_ns[number]
        pipeline_finale.resolve(fixed_at, live_at, at, collective, pointer(ends), lead_ns)


@njit(cache=True)
def _read(live: Ints, at: Layout, repeated: int, finish: Ints, booked: Ints) -> None:
    """Ends and times by category of all stages, with *repeated* further periods."""
    columns, last = at.categories + 1, 0
    for stage in range(at.stages):
        finish[stage] = live[at.npu + stage * at.npu_size + n.BOOKED_UNTIL]
        last = max(last, finish[stage])
    for stage in range(at.stages):
        npu, account = at.npu + stage * at.npu_size, at.account + stage * columns
        for column in range(columns):
            booked[stage, column] = live[account + column] + live[npu + at.booked + column]
        booked[stage, at.categories] += last - finish[stage]
        finish[stage] += repeated * live[f.PERIOD_NS]
        for column in range(columns):
            booked[stage, column] += repeated * live[at.steady + stage * columns + column]


@njit(cache=True)
def _account(code: Code, number: int, finish: Ints, booked: Ints, out: Ended) -> None:
    """Sum the times of the stages up, in the order in which ``IterationResult`` does."""
    if finish.min() < 0 or booked.min() < 0:
        out.state[number] = BELOW_ZERO
        return
    out.end_ns[number] = finish.max()
    stages, categories = finish.size, code.is_phase.size
    for stage in range(stages):
        compute_s = exposed_s = 0.0
        for category in range(categories):
            time_s = booked[stage, category] * _NS
            out.category_s[number, category] += time_s
            if code.is_phase[category]:
                compute_s += time_s
            else:
                exposed_s += time_s
        out.compute_s[number] += compute_s
        out.exposed_s[number] += exposed_s
        out.bubble_s[number] += booked[stage, categories] * _NS
    out.compute_s[number] /= stages
    out.exposed_s[number] /= stages
    out.bubble_s[number] /= stages
    out.category_s[number] /= stages
