"""The units of all stages as the stage kernels read them, but for the pieces that they run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.input import Ints
from simcore.kernels.stages import stage_layout as f
from simcore.memo import Memo
from simcore.workload.program.units.templates import pieces_of
from simcore.workload.program.write import TrainingProgram
from simcore.workload.schedules import SCHEDULES, stacked

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitTable:
    """S stages with U units each and M messages: all that depends on the pipeline alone.

    Attributes:
        units: (S, U, UNIT_FIELDS) int64; WHICH is the stage's own number of a piece, FORWARD_AGE 0.
        backward: (S, U) bool, the unit is a backward pass.
        passed: (S, U) int64, number of the pass, of a micro-batch and chunk.
        messages: (M, MESSAGE_FIELDS) int64, who receives each message.
        period: Units per period of the schedule, 0: none.
        period_batches: Micro-batches in it.
        repeats: (S, 2) int64, between which units each stage's program repeats.
    """

    units: Ints
    backward: Bools
    passed: Ints
    messages: Ints
    period: int
    period_batches: int
    repeats: Ints

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        arrays = (self.units, self.backward, self.passed, self.messages)
        return sum([array.nbytes for array in arrays])

    def forward_age(self) -> Ints:
        """(S, U) int64: how many units ago the same pass went forward."""
        stages, units = self.passed.shape
        stage, unit = np.nonzero(~self.backward)
        forward = np.empty((stages, units // 2), np.int64)
        forward[stage, self.passed[stage, unit]] = unit
        since: Ints = np.arange(units) - forward[np.arange(stages)[:, None], self.passed]
        return since


def unit_table(program: TrainingProgram, memo: Memo) -> UnitTable:
    """The table of *program*."""
    return memo.of("tables of units", program.pipeline, lambda: _table(program))


def _table(program: TrainingProgram) -> UnitTable:
    plan, stages = program.plan, program.stages
    batches = program.stages[0].units.batches
    every = stacked([stage.units for stage in stages])
    chunk, batch = every.chunk.astype(np.int64), every.microbatch.astype(np.int64)
    backward = every.backward
    units = np.zeros((*chunk.shape, f.UNIT_FIELDS), np.int64)
    units[:, :, f.WHICH] = pieces_of(every, plan.interleave)
    place = np.arange(plan.pp)[:, None] + chunk * plan.pp
    last = plan.interleave * plan.pp - 1
    for field, boundary in ((f.SENDS, place - backward), (f.RECEIVED, place - 1 + backward)):
        message = (2 * boundary + backward) * batches + batch
        units[:, :, field] = np.where((boundary >= 0) & (boundary < last), message, -1)
    schedule = SCHEDULES[plan.schedule]()
    period_batches = schedule.period(plan.pp, plan.interleave, plan.chunk_group) or 0
    late = [schedule.late_weights(stage.stage, batches) for stage in stages]
    period = 2 * period_batches * plan.interleave
    repeats = _repeats(2 * chunk + backward, backward, np.array(late), period)
    return UnitTable(
        units=units,
        backward=backward,
        passed=batch + chunk * batches,
        messages=_messages(units, 2 * last * batches),
        period=0 if repeats is None else period,
        period_batches=period_batches,
        repeats=np.zeros((plan.pp, 2), np.int64) if repeats is None else repeats,
    )


def _messages(units: Ints, count: int) -> Ints:
    messages = np.zeros((count, f.MESSAGE_FIELDS), np.int64)
    stage, unit = np.nonzero(units[:, :, f.RECEIVED] >= 0)
    message = units[stage, unit, f.RECEIVED]
    messages[message, f.TO_STAGE] = stage
    messages[message, f.TO_UNIT] = unit
    return messages


def _repeats(which: Ints, backward: Bools, late: Ints, period: int) -> Ints | None:
    """Between which units each stage's program repeats; None: not everywhere.

    That is the part in which forward and backward passes alternate, all of the latter with weight
    gradients.
    """
    if period == 0:
        return None
    warm_up = backward.argmax(axis=1) - 1
    first, last = warm_up + 2 * late, which.shape[1] - warm_up
    if (last - first < 2 * period).any():
        return None
    unit = np.arange(which.shape[1] - period)
    inside = (unit >= first[:, None]) & (unit + period < last[:, None])
    if (inside & (which[:, :-period] != which[:, period:])).any():
        return None
    return np.stack([first, last], axis=1)
