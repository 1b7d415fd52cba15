"""Builds the workload graph from a workload and a plan."""

from simcore.workload.base import Workload
from simcore.workload.graph import TrainingGraph
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.units.assemble import assemble
from simcore.workload.program.units.templates import Templates
from simcore.workload.program.write import StagePieces, TrainingProgram, write_program


def build_graph(workload: Workload, plan: ParallelPlan) -> TrainingGraph:
    """The graph of one training iteration.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    return expand_program(write_program(workload, plan))


def expand_program(program: TrainingProgram) -> TrainingGraph:
    """The graph of *program*: every node of every unit."""
    known: dict[StagePieces, Templates] = {}
    message_bytes = program.message_bytes
    stages = []
    for stage in program.stages:
        if stage.pieces not in known:
            known[stage.pieces] = Templates.of(
                program.table,
                program.table.numbers(stage.pieces.pieces),
                stages=program.plan.pp,
                chunks=stage.pieces.chunks,
                mirrors=program.plan.mirrors,
            )
        templates = known[stage.pieces]
        stages.append(assemble(templates, stage.units, stage.stage, stage.spans, message_bytes))
    return TrainingGraph(
        workload=program.workload,
        plan=program.plan,
        stages=tuple(stages),
        operators=program.operators,
        collectives=program.collectives,
        groups=program.groups,
    )
