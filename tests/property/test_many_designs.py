"""Designs that are simulated together have the results that each has by itself, to the last bit."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.evaluate.designs.runs import DesignRuns
from dse.study.compile import Study, load_study_file
from simcore import (
    InfeasibleError,
    IterationResult,
    ManySimulator,
    RunTemplate,
    SimcoreError,
    Simulations,
    Simulator,
    simulate_many,
)
from simcore.bounds import DesignColumns
from simcore.engines.stages import plan_code
from simcore.many import batch
from simcore.many.plans import PlanRow

ROOT = Path(__file__).resolve().parents[2]
SLOW = {
    "gpt3_13b_64_congestion": 4,
    "llama3_405b_networks": 1,
    "moe_all_to_all": 1,
    "p5_vit22b_64_simulated": 3,
    "roce_or_infiniband": 4,
}
"""Designs of studies that take long, one by one."""

Values = Mapping[str, object]


@cache
def _study(name: str) -> Study:
    return load_study_file(ROOT / "studies" / f"{name}.yaml")


def _simulated() -> list[str]:
    """Studies whose designs are runs of the simulator."""
    names = sorted(path.stem for path in (ROOT / "studies").glob("*.yaml"))
    return [one for one in names if _study(one).evaluator_input.name == "simulator"]


def _drawn(name: str, count: int, seed: int) -> list[tuple[RunTemplate, list[dict[str, Any]]]]:
    """Uniform draws of a study's space by number of dimensions, whether they can be or not.

    On few NPUs phases end member by member in half of them; on many that takes long.
    """
    study, random = _study(name), np.random.default_rng(seed)
    space, designs = study.space, []
    for _ in range(count):
        dimensions = int(random.choice(list(space.dimensions)))
        rows = [int(random.integers(block.rows(dimensions))) for block in space.blocks]
        designs.append(space.design(dimensions, rows))
    found = []
    for template, _, values in DesignRuns(study.evaluator_input).by_template(designs):
        assert isinstance(template, RunTemplate)
        each = "_64" in name
        ends = random.choice(["each", "together"] if each else ["together"], len(values))
        for row, end in zip(values, ends, strict=True):
            row["system.phase_end"] = str(end)
        found.append((template, values))
    return found


def _columns(values: Sequence[Values]) -> dict[str, list[object]]:
    paths = dict.fromkeys(path for row in values for path in row)
    return {path: [row.get(path) for row in values] for path in paths}


def _single(
    simulator: Simulator, template: RunTemplate, values: Values, *, memory: bool
) -> IterationResult | SimcoreError:
    try:
        return simulator.simulate(template.with_values(values), memory=memory)
    except SimcoreError as error:
        return error


def _hold_against_single_runs(
    template: RunTemplate, values: Sequence[Values], found: Simulations, *, memory: bool
) -> None:
    simulator = Simulator()
    for row, own in enumerate(values):
        result = _single(simulator, template, own, memory=memory)
        if isinstance(result, SimcoreError):
            assert found.state[row] in ("infeasible", "failed"), own
            broken = result.rule if isinstance(result, InfeasibleError) else ""
            assert found.rule[row] == broken
            assert found.reason(row) == str(result)
            assert found.iteration_time_ns[row] == 0
            continue
        assert found.state[row] == "complete", (own, found.reason(row))
        assert found.iteration_time_ns[row] == round(result.iteration_time_s * 1e9)
        assert found.metrics_of(row) == result.metrics(), (own, found.ways[row])


@pytest.mark.parametrize("name", _simulated())
def test_designs_of_studies_have_the_results_of_single_runs(name: str) -> None:
    for template, values in _drawn(name, SLOW.get(name, 20), seed=1):
        found = simulate_many(template, _columns(values), memory=True)
        _hold_against_single_runs(template, values, found, memory=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one for one in _simulated() if one not in SLOW])
def test_hundreds_of_designs_have_the_results_of_single_runs(name: str) -> None:
    for template, values in _drawn(name, 250, seed=2):
        found = simulate_many(template, _columns(values), memory=False)
        _hold_against_single_runs(template, values, found, memory=False)


def _bytes(found: Simulations, rows: Sequence[int]) -> list[tuple[object, ...]]:
    return [
        (found.iteration_time_ns[row], found.metrics_of(row), found.state[row], found.reason(row))
        for row in rows
    ]


@pytest.mark.parametrize("name", ["llama3_405b_16384", "llm_gpt"])
def test_results_are_the_same_where_shorter_runs_are_tried_first(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = _drawn(name, 120, seed=4)
    found = [simulate_many(template, _columns(values)) for template, values in every]
    monkeypatch.setattr(plan_code, "_FAR_LONGER", 2)
    for (template, values), whole in zip(every, found, strict=True):
        again = simulate_many(template, _columns(values))
        assert _bytes(again, range(len(values))) == _bytes(whole, range(len(values)))


@pytest.mark.parametrize("name", ["p1_cosmic_1024", "llm_gpt"])
def test_results_depend_neither_on_the_order_nor_on_the_split_of_a_batch(name: str) -> None:
    template, values = max(_drawn(name, 90, seed=3), key=lambda one: len(one[1]))
    count = len(values)
    whole = simulate_many(template, _columns(values), memory=True)
    backwards = simulate_many(template, _columns(values[::-1]), memory=True)
    assert _bytes(whole, range(count)) == _bytes(backwards, range(count)[::-1])
    designs = DesignColumns.of(_columns(values))
    kept = ManySimulator(template, designs.choices, memory=True)
    for rows in (range(0, 7), range(7, 8), range(8, count)):
        part = {path: codes[list(rows)] for path, codes in designs.codes.items()}
        assert _bytes(kept.simulate(part), range(len(rows))) == _bytes(whole, rows)


def test_results_do_not_depend_on_how_many_plans_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    template, values = max(_drawn("llm_gpt", 60, seed=3), key=lambda one: len(one[1]))
    designs = DesignColumns.of(_columns(values))
    whole = simulate_many(template, _columns(values))
    plans: list[int] = []

    def counted(*arguments: Any) -> PlanRow:
        plans.append(1)
        return plan_row(*arguments)

    plan_row = PlanRow.of
    monkeypatch.setattr(PlanRow, "of", counted)
    monkeypatch.setattr(batch, "_PLANS_KEPT", 12)
    few = ManySimulator(template, designs.choices)
    for _ in range(2):
        found = few.simulate(designs.codes)
        assert _bytes(found, range(len(values))) == _bytes(whole, range(len(values)))
        assert len(few._tables._plans) <= 12
    plans_of = {tuple((k, str(v)) for k, v in row.items() if "plan" in k) for row in values}
    assert len(plans_of) < len(plans)


def test_most_designs_of_a_training_study_are_simulated_together() -> None:
    template, values = _drawn("p1_cosmic_1024", 60, seed=4)[0]
    together = [{**row, "system.phase_end": "together"} for row in values]
    found = simulate_many(template, _columns(together))
    assert found.together == len(found) == 60
    assert not any(found.ways)


def test_what_is_simulated_apart_says_why() -> None:
    template, values = _drawn("p1_cosmic_1024", 3, seed=5)[0]
    orders = [{**row, "system.inter_dimension": "round_robin"} for row in values[:1]]
    found = simulate_many(template, orders)
    assert "other orders" in found.ways[0] or found.state[0] == "infeasible"
    _hold_against_single_runs(template, orders, found, memory=False)


def test_a_refused_value_fails_its_own_design_alone() -> None:
    template, values = _drawn("p1_cosmic_1024", 3, seed=6)[0]
    mixed = [values[0], {**values[1], "system.chunks": 0}, values[2]]
    found = simulate_many(template, _columns(mixed))
    assert found.state[1] == "failed"
    assert "chunks" in found.reason(1)
    _hold_against_single_runs(template, mixed, found, memory=False)


def test_the_result_of_one_design_is_made_on_demand() -> None:
    template, values = _drawn("p1_cosmic_1024", 4, seed=7)[0]
    found = simulate_many(template, _columns(values))
    complete = found.state.index("complete")
    result = found.result(complete)
    assert result.metrics() == found.metrics_of(complete)
    assert len(result.stages) >= 1
