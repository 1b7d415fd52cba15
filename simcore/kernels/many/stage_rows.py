"""Iterations of many designs, stage by stage, those together whose programs have one structure."""

from typing import NamedTuple

import numpy as np

from simcore.kernels.collectives.phase_members import rounds_ends
from simcore.kernels.collectives.records import Floats, Ints, Machine, Records
from simcore.kernels.jit import njit
from simcore.kernels.many.programs import write_program
from simcore.kernels.many.tables import RowTimes
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.pointers import pointer, words_at
from simcore.kernels.records import Record, record_of
from simcore.kernels.stages import pipeline_finale, pipeline_run
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout

ENDED, NO_TIME, NO_PERIOD, UNDECIDED, BELOW_ZERO = range(5)
"""Outcomes of a design: its iteration is known; a node takes no time; the run shows no steady
state that fills the iteration, so a longer one is asked for; the order of two events is not known
here; a time is negative.
"""

GROUP = record_of(np.int64, "program", "first", "behind")
"""Designs with one structure and layout of memory: number of its program, the first of them and the
one behind the last."""

SHARED = record_of(np.int64, "phase", "chunk_bytes", "rounds", "delay_ns")
"""A collective between stages: its phase, size of a chunk, chunks one after another, and delay of a
message in ns; a phase of -1: it has more than one."""

_NS = 1e-9


class Codes(NamedTuple):
    """Programs of designs, and which of these have one.

    Attributes:
        programs: (P,) PROGRAM.
        columns: (P, C) int64, number of each category of a program among all categories.
        groups: (G,) GROUP.
        layouts: (G,) records of Layout.
    """

    programs: Records
    columns: Ints
    groups: Records
    layouts: Records


class Designs(NamedTuple):
    """N designs, group by group: where their times are.

    Attributes:
        row: (N,) int64, number in ``RowTimes`` and in the tables of machines.
        plan: (N,) int64, number of the plan among these.
        stride: (P,) int64, distance of neighbouring stages in NPU ids, of each plan.
        left: (P,) int64, micro-batches that its iteration has beyond those of its run.
        first_operator: (N,) int64, where in *operators* those of a design begin.
        operators: Times of operators.
        first_unique: (P + 1,) int64, where in *unique* the collectives of a plan begin.
        unique: Of each collective its number among those of the plan that differ.
        links: (R, D) LINK, of the machine of each row.
        memory_bytes_per_s: (R,) float64.
        first_shared: (N,) int64, where in *shared* those of a design begin.
        shared: SHARED.
        phases, words: Of the collectives between stages, and their step tables.
        lead_ns: (R,) int64, how long before the end of such a one its last step was scheduled.
    """

    row: Ints
    plan: Ints
    stride: Ints
    left: Ints
    first_operator: Ints
    operators: Ints
    first_unique: Ints
    unique: Ints
    links: Records
    memory_bytes_per_s: Floats
    first_shared: Ints
    shared: Records
    phases: Records
    words: Ints
    lead_ns: Ints


class Ended(NamedTuple):
    """Iterations of N designs with C categories in all.

    Attributes:
        state: (N,) int64, one of the outcomes.
        end_ns: (N,) int64, of the iteration.
        compute_s, exposed_s, bubble_s: (N,) float64, means over the stages.
        category_s: (N, C) float64, likewise by category; what a design has not is left as it is.
    """

    state: Ints
    end_ns: Ints
    compute_s: Floats
    exposed_s: Floats
    bubble_s: Floats
    category_s: Floats


@njit(cache=True)
def run_designs(
    codes: Codes, designs: Designs, times: RowTimes, fixed: Ints, live: Ints, out: Ended
) -> None:
    """Run all of *designs*, one after the other, with programs in *fixed* and in the memory *live*.

    A program is written once for groups that follow each other, and so are nodes that programs
    have in common.
    """
    written, head, is_known = n.ZERO - 1, n.ZERO, False
    for number in range(codes.groups.size):
        group = codes.groups[number]
        program = codes.programs[group["program"]]
        if group["program"] != written:
            is_known = write_program(program, pointer(fixed), program["head"] == head)
            written, head = group["program"], program["head"]
        if is_known:
            _run_group(codes, number, designs, times, fixed, live, out)
        else:
            out.state[group["first"] : group["behind"]] = NO_TIME


@njit(cache=True)
def _run_group(
    codes: Codes,
    which: int,
    designs: Designs,
    times: RowTimes,
    fixed: Ints,
    live: Ints,
    out: Ended,
) -> None:
    """Run the designs of a group, whose program is written."""
    group, at = codes.groups[which], codes.layouts[which]
    program, columns = codes.programs[group["program"]], codes.columns[group["program"]]
    operators, first = program["operators"], designs.plan[group["first"]]
    joint = designs.first_unique[first + 1] - designs.first_unique[first]
    items = np.zeros(operators + joint + 1, np.int64)
    leads = np.full(items.size, -1, np.int64)
    finish = np.zeros(at.stages, np.int64)
    booked = np.zeros((at.stages, at.categories + 1), np.int64)
    for number in range(group["first"], group["behind"]):
        _gather_times(program, designs, times, number, items, leads)
        if not _takes_time(at.stages, items[:operators], times, designs.row[number]):
            out.state[number] = NO_TIME
            continue
        _write_times(program, fixed, times, designs.row[number], live, at, items, leads)
        out.state[number] = _run(program, fixed, designs, number, live, at)
        if out.state[number] == UNDECIDED:
            continue
        left = designs.left[designs.plan[number]]
        period = live[f.PERIODS] * program["period_batches"]
        if left > 0 and (period == 0 or left % period != 0):
            out.state[number] = NO_PERIOD
            continue
        _read(live, at, left // max(period, 1), finish, booked)
        _account(program, columns, number, finish, booked, out)


@njit(cache=True)
def _gather_times(
    program: Record, designs: Designs, times: RowTimes, number: int, items: Ints, leads: Ints
) -> None:
    """Times of the operators and collectives of one design; of those between stages 0."""
    row, plan, operators = designs.row[number], designs.plan[number], program["operators"]
    first = designs.first_operator[number]
    items[:operators] = designs.operators[first : first + operators]
    begin = designs.first_unique[plan]
    for item in range(designs.first_unique[plan + 1] - begin):
        at = times.first[row] + designs.unique[begin + item]
        items[operators + item] = times.duration_ns[at]
        leads[operators + item] = times.last_ns[at]
    small = words_at(program["small"], program["small_size"])
    for shared in range(program["joint"]):
        item = operators + small[program["item"] + shared]
        items[item] = leads[item] = 0


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
    program: Record,
    fixed: Ints,
    times: RowTimes,
    row: int,
    live: Ints,
    at: Layout,
    items: Ints,
    leads: Ints,
) -> None:
    """Put the times of one design in the place of those of the one before."""
    first, small = times.first_message[row], words_at(program["small"], program["small_size"])
    for item in range(items.size):
        place = at.times + item * f.TIMES_FIELDS
        live[place + n.DURATION], live[place + n.LAST_STEP] = items[item], leads[item]
    size, known = program["piece_count"] * f.PIECE_FIELDS, 0
    for stage in range(at.stages):
        next_ns = previous_ns = 0
        if at.stages > 1:
            next_ns = times.message_ns[first + stage]
            previous_ns = times.message_ns[first + at.stages + stage]
        alike = 0
        while alike < known:
            piece = program["piece_at"] + alike * size
            if fixed[piece + f.NEXT_NS] == next_ns and fixed[piece + f.PREVIOUS_NS] == previous_ns:
                break
            alike += 1
        if alike == known:
            known += 1
            for number in range(program["piece_count"]):
                own = number * f.PIECE_FIELDS
                piece = program["piece_at"] + alike * size + own
                for field in range(f.NEXT_NS):
                    fixed[piece + field] = small[program["pieces"] + own + field]
                fixed[piece + f.NEXT_NS], fixed[piece + f.PREVIOUS_NS] = next_ns, previous_ns
        pieces = at.program + stage * f.PROGRAM_FIELDS + f.PIECES
        fixed[pieces] = program["piece_at"] + alike * size


@njit(cache=True)
def _run(
    program: Record, fixed: Ints, designs: Designs, number: int, live: Ints, at: Layout
) -> int:
    """Run one design to its end: ENDED, or UNDECIDED."""
    fixed_at, live_at, row = pointer(fixed), pointer(live), designs.row[number]
    small = words_at(program["small"], program["small_size"])
    pipeline_run.start(fixed_at, live_at, at, np.bool_(False))
    while True:
        collective = pipeline_run.run(fixed_at, live_at, at)
        if collective < 0:
            return ENDED if collective == pipeline_run.FINISHED else UNDECIDED
        first = small[program["members"] + collective]
        members = small[program["members"] + collective + 1] - first
        starts, ends = np.empty(members, np.int64), np.empty(members, np.int64)
        ids = np.empty(members, np.int64)
        started = at.started + collective * (at.stages + 1) + 1
        for member in range(members):
            stage = small[program["member_stage"] + first + member]
            ids[member] = stage * designs.stride[designs.plan[number]]
            starts[member] = live[started + stage]
        earliest = starts.min()
        starts -= earliest
        shared = designs.shared[designs.first_shared[number] + collective]
        if shared["phase"] < 0:
            return UNDECIDED
        machine = Machine(
            designs.links[row],
            np.zeros(0, np.int64),
            shared["delay_ns"],
            designs.memory_bytes_per_s[row],
        )
        phase = designs.phases[shared["phase"] : shared["phase"] + 1]
        size, rounds = shared["chunk_bytes"], shared["rounds"]
        if not rounds_ends(phase, designs.words, size, ids, machine, starts, ends, rounds):
            return UNDECIDED
        ends += earliest
        lead_ns = designs.lead_ns[row]
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
def _account(
    program: Record, columns: Ints, number: int, finish: Ints, booked: Ints, out: Ended
) -> None:
    """Sum the times of the stages up, in the order in which ``IterationResult`` does."""
    if finish.min() < 0 or booked.min() < 0:
        out.state[number] = BELOW_ZERO
        return
    out.end_ns[number] = finish.max()
    small = words_at(program["small"], program["small_size"])
    stages, categories = finish.size, program["categories"]
    for category in range(categories):
        out.category_s[number, columns[category]] = 0.0
    for stage in range(stages):
        compute_s = exposed_s = 0.0
        for category in range(categories):
            time_s = booked[stage, category] * _NS
            out.category_s[number, columns[category]] += time_s
            if small[program["is_phase"] + category] != 0:
                compute_s += time_s
            else:
                exposed_s += time_s
        out.compute_s[number] += compute_s
        out.exposed_s[number] += exposed_s
        out.bubble_s[number] += booked[stage, categories] * _NS
    out.compute_s[number] /= stages
    out.exposed_s[number] /= stages
    out.bubble_s[number] /= stages
    for category in range(categories):
        out.category_s[number, columns[category]] /= stages
