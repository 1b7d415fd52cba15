"""Programs that a kernel puts together have what their parts say, each thing at its place."""

import numpy as np

from simcore.engines.stages.code import CodeParts, PipelineCode
from simcore.engines.stages.plan_code import PlanCode
from simcore.kernels.many.programs import LATEST, PROGRAM, write_program
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.pointers import pointer
from simcore.kernels.stages import stage_layout as f
from simcore.memo import Memo
from simcore.workload import Model, ParallelPlan, TrainingWorkload

PLANS = [
    ParallelPlan(tp=2, dp=4),
    ParallelPlan(tp=2, pp=4, dp=2, recompute="full", zero_stage=1),
    ParallelPlan(pp=2, dp=4, interleave=3, zero_stage=2),
]


def _program(plan: ParallelPlan) -> tuple[CodeParts, PipelineCode]:
    model = Model.build(name="m", layers=12, hidden=256, heads=8, ffn=1024, vocabulary=1024)
    known = PlanCode(TrainingWorkload(model=model, sequence=128, global_batch=64), plan, Memo())
    parts, code = known.parts(known.batches), known.code(known.batches)
    assert parts is not None
    assert code is not None
    return parts, code


def _units(parts: CodeParts, code: PipelineCode) -> np.ndarray:
    head, table = parts.own.head.size, parts.table
    return code.fixed[head:][: table.units.size].reshape(table.units.shape)


def test_nodes_and_messages_are_those_of_the_parts() -> None:
    for plan in PLANS:
        parts, code = _program(plan)
        head = parts.own.head.astype(np.int64)
        head[head == LATEST] = n.NEVER
        assert np.array_equal(code.fixed[: head.size], head)
        sent = code.fixed[code.message : code.members].reshape(-1, f.MESSAGE_FIELDS)
        assert np.array_equal(sent, parts.table.messages)
        counts = code.fixed[code.members : code.piece].tolist()
        assert counts == [len(one.stages) for one in code.shared]


def test_units_keep_their_messages_and_units_that_were_alike_run_one_piece() -> None:
    for plan in PLANS:
        parts, code = _program(plan)
        units, table = _units(parts, code), parts.table.units
        assert np.array_equal(units[:, :, f.SENDS :], table[:, :, f.SENDS :])
        ends = code.pieces[units[:, :, f.WHICH], f.LAST] < 0
        programs = code.fixed[code.program :].reshape(-1, f.PROGRAM_FIELDS)
        for stage, program in enumerate(programs.tolist()):
            assert program[f.UNITS] == parts.own.head.size + stage * units[0].size
            finale = program[f.FINALE_UNIT]
            assert ends[stage].argmax() == finale  # the first unit that goes to the end
            before = list(zip(table[stage, :finale, 0], units[stage, :finale, 0], strict=True))
            assert len(set(before)) == len({which for which, _ in before})


def test_a_unit_that_asks_for_its_forward_pass_asks_for_the_one_of_its_own_batch() -> None:
    for plan in PLANS:
        parts, code = _program(plan)
        age, table = _units(parts, code)[:, :, f.FORWARD_AGE], parts.table
        for stage, unit in np.argwhere(age > 0).tolist():
            forward = unit - age[stage, unit]
            assert table.backward[stage, unit]
            assert not table.backward[stage, forward]
            assert table.passed[stage, unit] == table.passed[stage, forward]


def test_nodes_that_are_there_are_not_written_again() -> None:
    parts, code = _program(PLANS[1])
    row = np.array([parts.row], PROGRAM)[0]
    fixed = np.full(code.fixed.size, -7)
    assert write_program(row, pointer(fixed), True)
    head = parts.own.head.size
    assert (fixed[:head] == -7).all()
    assert np.array_equal(fixed[head : code.piece], code.fixed[head : code.piece])
