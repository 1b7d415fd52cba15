"""No design beats the machine's peak, and its time is accounted for to the last part."""

from collections.abc import Iterator

import numpy as np
import pytest

from dse.evaluate.simulator import SimulatorEvaluator
from dse.space import Design, Space
from dse.study.compile import load_study_file
from simcore import InfeasibleError, IterationResult, Run, SimulationError, simulate_run

STUDIES = ["llm_gpt.yaml", "p1_cosmic_1024.yaml", "p5_vit22b_64.yaml"]
WANTED = 12
"""Designs of each study."""


def random_designs(space: Space, seed: int) -> Iterator[Design]:
    generator = np.random.default_rng(seed)
    while True:
        dimensions = int(generator.choice(list(space.dimensions)))
        rows = [int(generator.integers(block.rows(dimensions))) for block in space.blocks]
        yield space.design(dimensions, rows)


def simulated(study_name: str, seed: int) -> Iterator[tuple[Run, IterationResult]]:
    study = load_study_file(study_name, {"evaluator": "simulator"})
    evaluator = SimulatorEvaluator(study.evaluator_input)
    found = 0
    for design in random_designs(study.space, seed):
        run = evaluator.run(design)
        try:
            result = simulate_run(run)
        except (InfeasibleError, SimulationError):
            continue
        yield run, result
        found += 1
        if found == WANTED:
            return


@pytest.mark.parametrize("study", STUDIES)
def test_no_design_beats_the_peak_and_all_its_time_is_accounted_for(study: str) -> None:
    for run, result in simulated(study, seed=20):
        workload, platform = run.workload, run.platform
        flop = 6 * workload.model.active_parameters * workload.tokens
        floor_s = flop / (platform.npus * platform.npu.peak(workload.precision))
        assert result.iteration_time_s >= floor_s
        assert 0 < result.mfu <= result.hfu <= 1
        assert all(0 <= share <= 1 for share in result.dimension_utilization)
        for stage in result.stages:
            parts = [*stage.compute_s.values(), *stage.exposed_communication_s.values()]
            total_s = sum(parts) + stage.bubble_s
            assert total_s == pytest.approx(result.iteration_time_s, rel=1e-9)
            assert stage.finish_s <= result.iteration_time_s * (1 + 1e-12)
            assert min(*parts, stage.bubble_s) >= 0
