"""A study of a few hundred designs, small enough to simulate them all."""

from typing import Any

import numpy as np
import pytest

import dse
from dse.evaluate import build_evaluator
from dse.evaluate.base import Account, evaluate
from dse.evaluate.simulator import SimulatorEvaluator
from dse.rank.pareto import non_dominated
from dse.run.runner import Runner
from dse.space import Design
from dse.study.compile import Study, compile_study

STUDY: dict[str, Any] = {
    "version": 1,
    "run": {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 512, "global_batch": 32},
        "platform": {
            "npu": "a100_80",
            "dimensions": [
                {"topology": "ring", "npus": 4, "bandwidth": "50 GB/s", "latency": "700 ns"},
                {"topology": "switch", "npus": 4, "bandwidth": "10 GB/s", "latency": "1700 ns"},
            ],
        },
        "plan": {"tp": 4, "dp": 4},
        "system": {"phase_end": "together", "all_reduce": "ring"},
    },
    "space": {
        "products": [
            {"of": ["plan.tp", "plan.pp", "plan.dp"], "equals": 16},
            {"of": ["platform.dimensions[*].npus"], "equals": 16, "values": [2, 4, 8]},
        ],
        "axes": {
            "plan.micro_batch": {"choices": [1, 2]},
            "platform.dimensions[1].topology": {"choices": ["ring", "switch"]},
            "platform.dimensions[0].bandwidth": {"ladder": ["20 GB/s", "40 GB/s", "200 GB/s"]},
            "platform.dimensions[1].bandwidth": {"ladder": ["5 GB/s", "50 GB/s"]},
        },
        "require": [
            "plan.pp <= 4",
            "workload.global_batch % (plan.dp * plan.micro_batch) == 0",
        ],
    },
    "physical": False,  # links faster than the accelerator is sold with
    "objectives": {"iteration_time": "minimise", "capital_cost": "minimise"},
    "constraints": ["fits_in_memory"],
    "cost": {"model": "accelerators_and_libra_py", "network": "libra_py"},
    "search": {"sampler": "random", "trials": 600, "window": 8},
    "execution": {"executor": "serial"},
}


def searched(data: dict[str, Any], **search: Any) -> dse.StudyResult:
    study = compile_study({**data, "search": {**data["search"], **search}})
    return Runner(study, out=None, resume=False, watcher=None).search(None)


def exact_front(study: Study) -> set[tuple[float, ...]]:
    evaluator = build_evaluator(study.evaluator_input)
    outcomes = [evaluate(evaluator, study.goals, design) for design in study.space.designs()]
    values = [tuple(o.objectives.values()) for o in outcomes if o.state == "complete"]
    points = np.array(values)
    return {tuple(point) for point in points[non_dominated(points)].tolist()}


def break_some_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every design with one sample per micro-batch fail, and no study give up for that."""
    account = SimulatorEvaluator.account

    def broken_for_some(self: SimulatorEvaluator, design: Design) -> Account:
        if design["plan.micro_batch"] == 1:
            raise RuntimeError("broken")
        return account(self, design)

    monkeypatch.setattr(SimulatorEvaluator, "account", broken_for_some)
    monkeypatch.setattr("dse.study.counts.ALIKE", 1000)
