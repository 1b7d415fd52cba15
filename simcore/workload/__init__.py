"""The job: what is trained, how it is spread, and the graph of one iteration."""

from simcore.workload.base import Workload, microbatches
from simcore.workload.graph import (
    Axis,
    CollectiveOp,
    Kernel,
    PassPhase,
    StageGraph,
    TrainingGraph,
)
from simcore.workload.kinds import AnyWorkload, read_workload
from simcore.workload.kinds.transformer.model import Model
from simcore.workload.kinds.transformer.workload import TrainingWorkload
from simcore.workload.load import load_model, load_net, load_plan, load_workload
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.write import build_graph
from simcore.workload.rules import check_plan
from simcore.workload.spans import stage_layers
from simcore.workload.totals import flop_by_stage, total_model_flop
from simcore.workload.updates import Updates

__all__ = [
    "AnyWorkload",
    "Axis",
    "CollectiveOp",
    "Kernel",
    "Model",
    "ParallelPlan",
    "PassPhase",
    "StageGraph",
    "TrainingGraph",
    "TrainingWorkload",
    "Updates",
    "Workload",
    "build_graph",
    "check_plan",
    "flop_by_stage",
    "load_model",
    "load_net",
    "load_plan",
    "load_workload",
    "microbatches",
    "read_workload",
    "stage_layers",
    "total_model_flop",
]
