"""Evaluators turn designs into metrics; crews of workers run them."""

from dse.evaluate.base import Evaluation, Evaluator, EvaluatorInput, State
from dse.evaluate.fidelity import FIDELITIES, fidelity_named
from dse.evaluate.registry import DEFAULT_EVALUATOR, EVALUATORS, OWN, build_evaluator
from dse.evaluate.workers.crew import Crew
from dse.evaluate.workers.dispatch import Dispatcher
from dse.evaluate.workers.executors import EXECUTORS, start_crew
from dse.evaluate.workers.ray_start import ray_kept_up
from dse.evaluate.workers.worker import Answer, Limits, Task

__all__ = [
    "DEFAULT_EVALUATOR",
    "EVALUATORS",
    "EXECUTORS",
    "FIDELITIES",
    "OWN",
    "Answer",
    "Crew",
    "Dispatcher",
    "Evaluation",
    "Evaluator",
    "EvaluatorInput",
    "Limits",
    "State",
    "Task",
    "build_evaluator",
    "fidelity_named",
    "ray_kept_up",
    "start_crew",
]
