"""Designs of the shipped studies come out the same where each of their nodes is executed."""

import numpy as np
import pytest

from dse.evaluate import build_evaluator
from dse.evaluate.simulator import SimulatorEvaluator
from dse.study.compile import load_study_file
from simcore import InfeasibleError, Run, RunChecks
from simcore.engines.stages.accounts import book
from simcore.simulation import Simulator, run_with_iteration
from simcore.workload.graph import PassPhase


def feasible_runs(name: str, wanted: int, most_units: int) -> list[Run]:
    """Random designs that can run, of at most so many units of work: a slow oracle judges them."""
    study, random, checks = load_study_file(name), np.random.default_rng(3), RunChecks()
    evaluator = build_evaluator(study.evaluator_input)
    assert isinstance(evaluator, SimulatorEvaluator)
    count, found = max(study.space.dimensions), list[Run]()
    while len(found) < wanted:
        rows = [int(random.integers(block.rows(count))) for block in study.space.blocks]
        try:
            run = evaluator.run(study.space.design(count, rows))
            checks.check(run, memory=False)
        except InfeasibleError:
            continue
        plan = run.plan
        batches = run.workload.global_batch // (plan.dp * plan.micro_batch)
        if batches * plan.pp * plan.interleave <= most_units:
            found.append(run)
    return found


@pytest.mark.parametrize(
    ("name", "wanted", "most_units"),
    [
        ("p1_cosmic_1024.yaml", 12, 1000),
        ("llm_gpt.yaml", 8, 300),
        ("p2_llama3_405b_16k_h100.yaml", 10, 500),
    ],
)
def test_designs_equal_the_run_of_every_node(name: str, wanted: int, most_units: int) -> None:
    simulator = Simulator()
    situations = 0
    for run in feasible_runs(name, wanted, most_units):
        plain, iteration = run_with_iteration(run, every_node=True)
        looked_up, fast = run_with_iteration(run)
        assert looked_up == plain == simulator.simulate(run)
        assert iteration.nodes is not None
        ran = iteration.nodes.execution
        assert ran.start_ns is not None
        again = book(iteration.nodes.lowered, ran.start_ns, ran.end_ns)
        if run.system.profile.communication_streams > 1:
            # times do not tell which of two messages at once had the lower stream
            again, fast_ns = (
                np.stack([part[:, :phases].sum(1), part[:, phases:-1].sum(1), part[:, -1]])
                for phases in [sum(name in set(PassPhase) for name in fast.categories)]
                for part in (again, fast.booked_ns)
            )
        else:
            fast_ns = fast.booked_ns
        np.testing.assert_array_equal(again, fast_ns)
        situations += fast.situations > 0
    assert situations > wanted / 2
