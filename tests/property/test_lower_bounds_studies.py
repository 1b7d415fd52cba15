"""Random designs of the shipped studies are bounded from below, and closely."""

import numpy as np
import pytest

from dse.evaluate.designs.assign import Assignment, trimmed_run
from dse.study.compile import load_study_file
from simcore import InfeasibleError, RunTemplate, SimulationError, Simulator, lower_bounds

WANTED = 40


@pytest.mark.parametrize(
    ("name", "median"),
    [("p1_cosmic_1024.yaml", 0.7), ("llm_gpt.yaml", 0.97), ("p5_vit22b_64.yaml", 0.7)],
)  # the last with the dense stand-in of its model that its run file has
def test_designs_of_a_study_are_no_faster_than_their_bounds(name: str, median: float) -> None:
    study = load_study_file(name, {"evaluator": "simulator"})
    what, random = study.evaluator_input, np.random.default_rng(7)
    count = max(study.space.dimensions)
    kept = study.space.dimensions[count]
    run = trimmed_run(what.run, kept)
    run["system"] = {**run["system"], "phase_end": "together"}
    template = RunTemplate.from_table(run)
    simulator = Simulator()
    designs: list[dict[str, object]] = []
    times_s: list[float] = []
    while len(designs) < WANTED:
        rows = [int(random.integers(block.rows(count))) for block in study.space.blocks]
        design = study.space.design(count, rows)
        values = Assignment.of(list(design), what.parameters, kept, run).values(design)
        try:
            times_s.append(simulator.simulate(template.with_values(values)).iteration_time_s)
        except (InfeasibleError, SimulationError):
            continue
        designs.append(values)
    ratio = lower_bounds(template, designs) / np.array(times_s)
    assert ratio.max() <= 1
    assert np.median(ratio) > median
