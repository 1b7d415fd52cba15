"""The units of all stages as the stage kernels read them."""

import numpy as np

from simcore.kernels import stage_layout as f
from simcore.system.engine_input import Ints
from simcore.workload.program import TrainingProgram
from simcore.workload.schedules import SCHEDULES
from simcore.workload.templates import pieces_of


def unit_table(program: TrainingProgram) -> Ints | None:
    """(S, U, UNIT_FIELDS) int64.

    None where a unit of the finale but the first asks for the end of its forward pass.
    """
    plan, stages = program.plan, program.stages
    chunk = np.array([stage.units.chunk for stage in stages], np.int64)
    backward = np.array([stage.units.backward for stage in stages], np.int64)
    batch = np.array([stage.units.microbatch for stage in stages], np.int64)
    units = np.zeros((*chunk.shape, f.UNIT_FIELDS), np.int64)
    which = [pieces_of(stage.units, plan.interleave)[:-1] for stage in stages]
    units[:, :, f.WHICH] = which
    place = np.arange(plan.pp)[:, None] + chunk * plan.pp
    last = plan.interleave * plan.pp - 1
    batches = chunk.shape[1] // (2 * plan.interleave)
    for field, boundary in ((f.SENDS, place - backward), (f.RECEIVED, place - 1 + backward)):
        message = (2 * boundary + backward) * batches + batch
        units[:, :, field] = np.where((boundary >= 0) & (boundary < last), message, -1)
    for number, stage in enumerate(stages):
        asks = np.array([piece.asks_loss for piece in stage.pieces.pieces[:-1]])
        finale = chunk.shape[1] - len(stage.pieces.finale)
        if asks.any():
            asking = asks[units[number, :, f.WHICH]]
            if asking[finale + 1 :].any():
                return None
            passed = batch[number] + chunk[number] * batches
            age = _forward_age(passed, backward[number])
            units[number, asking, f.FORWARD_AGE] = age[asking]
        units[number, finale, f.WHICH] = len(stage.pieces.pieces) - 1
    return units


def _forward_age(passed: Ints, backward: Ints) -> Ints:
    """(U,) int64: how many units before each the same pass, of a batch and chunk, went forward."""
    forward = np.flatnonzero(backward == 0)
    unit = np.empty(forward.size, np.int64)
    unit[passed[forward]] = forward
    return np.arange(passed.size) - unit[passed]


def messages_of(program: TrainingProgram, units: Ints) -> Ints:
    """(M, MESSAGE_FIELDS) int64: who receives each message."""
    boundaries = program.plan.interleave * program.plan.pp - 1
    count = boundaries * units.shape[1] // program.plan.interleave
    messages = np.zeros((count, f.MESSAGE_FIELDS), np.int64)
    stage, unit = np.nonzero(units[:, :, f.RECEIVED] >= 0)
    message = units[stage, unit, f.RECEIVED]
    messages[message, f.TO_STAGE] = stage
    messages[message, f.TO_UNIT] = unit
    return messages


def repetition_of(program: TrainingProgram, period: int) -> Ints | None:
    """(S, 2) int64: between which units each stage's program repeats; None: not everywhere.

    That is the part in which forward and backward passes alternate, all of the latter with weight
    gradients.
    """
    if period == 0:
        return None
    backward = np.array([stage.units.backward for stage in program.stages])
    warm_up = backward.argmax(axis=1) - 1
    batches = backward.shape[1] // (2 * program.plan.interleave)
    schedule = SCHEDULES[program.plan.schedule]()
    late = [schedule.late_weights(stage.stage, batches) for stage in program.stages]
    first = warm_up + 2 * np.array(late)
    last = backward.shape[1] - warm_up
    if (last - first < 2 * period).any():
        return None
    chunk = np.array([stage.units.chunk for stage in program.stages])
    which = 2 * chunk + backward
    unit = np.arange(which.shape[1] - period)
    inside = (unit >= first[:, None]) & (unit + period < last[:, None])
    if (inside & (which[:, :-period] != which[:, period:])).any():
        return None
    return np.stack([first, last], axis=1)
