"""What is told of machines beforehand is what an evaluation finds."""

from collections.abc import Callable, Iterator
from itertools import islice
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from guide import part

from dse.evaluate import EVALUATORS, EvaluatorInput, build_evaluator
from dse.evaluate.closed_forms.evaluators import Model0Evaluator
from dse.evaluate.priced import MachineCosts
from dse.objectives import OBJECTIVES
from dse.proof.machines import machine_prices
from dse.space import Design
from dse.study.compile import Study, compile_study, find_study, load_study_file
from simcore import ConfigError, InfeasibleError, SimulationError

LADDER = [f"{n} GB/s" for n in range(20, 320, 20)]
ROOT = Path(__file__).parents[2]
P5: dict[str, Any] = yaml.safe_load(find_study("p5_vit22b_64.yaml").read_text())


def from_outside() -> Study:
    """The guide's own closed form, which has no run."""
    axes = {"npus": {"choices": [2**n for n in range(2, 14)]}, "bandwidth": {"ladder": LADDER}}
    goals = {"iteration_time": "minimise", "capital_cost": "minimise"}
    return compile_study(
        {"version": 1, "evaluator": "formula", "space": {"axes": axes}, "objectives": goals}
    )


STUDIES: dict[str, Callable[[], Study]] = {
    "model0": lambda: load_study_file("p5_vit22b_64.yaml"),
    "from outside": from_outside,
    "libra": lambda: compile_study({**P5, "evaluator": "libra"}),
    "simulator": lambda: load_study_file("p5_vit22b_64_simulated.yaml"),
    "llm_gpt": lambda: load_study_file("llm_gpt.yaml"),
}


@pytest.fixture(autouse=True)
def _with_the_guides(monkeypatch: pytest.MonkeyPatch) -> None:
    added = {**dict(EVALUATORS.items()), "formula": part("formula").Formula}
    monkeypatch.setattr(EVALUATORS, "_entries", added)


def random_designs(study: Study, seed: int) -> Iterator[Design]:
    rng, blocks = np.random.default_rng(seed), study.space.blocks
    while True:
        count = int(rng.choice(list(study.space.dimensions)))
        yield study.space.design(count, [int(rng.integers(one.rows(count))) for one in blocks])


@pytest.mark.parametrize("name", STUDIES)
def test_objectives_are_the_amounts_times_powers_of_the_time(name: str) -> None:
    study = STUDIES[name]()
    evaluator, prices = build_evaluator(study.evaluator_input), machine_prices(study)
    assert prices is not None
    compared = 0
    machines: set[tuple[float, ...]] = set()
    for design in islice(random_designs(study, 0), 1500):
        if compared == 60 or not evaluator.admits(design):
            continue
        amounts = prices.amounts(design)
        try:
            metrics = evaluator.metrics(design)
        except InfeasibleError:  # by its price, or else
            continue
        assert amounts is not None
        time_s = metrics["iteration_time_s"]
        told = [a * time_s**power for a, power in zip(amounts, prices.powers, strict=True)]
        values = [OBJECTIVES[objective].value(metrics) for objective in study.goals.objectives]
        assert told == pytest.approx(values, rel=1e-12)
        compared += 1
        machines.add(amounts)
    assert compared == 60
    assert len(machines) >= 5


def without_pod_switches(folder: Path) -> dict[str, Any]:
    """The ViT study with a price book that lists no switch for the outer dimension."""
    book = yaml.safe_load((ROOT / "configs/costs/default.yaml").read_text())
    book["network_tiers"]["pod"]["switch"] = None
    (folder / "book.yaml").write_text(yaml.safe_dump(book))
    return {**P5, "cost": {**P5["cost"], "prices": str(folder / "book.yaml")}}


def test_a_machine_with_a_part_that_is_not_sold_has_no_price_where_one_is_asked(
    tmp_path: Path,
) -> None:
    file = without_pod_switches(tmp_path)
    asked = machine_prices(compile_study(file))
    unasked = machine_prices(
        compile_study(
            {k: v for k, v in file.items() if k != "reference_point"}
            | {"objectives": {"iteration_time": "minimise"}}
        )
    )
    assert asked is not None
    assert unasked is not None
    outer = "platform.dimensions[1].topology"
    designs = list(islice(random_designs(compile_study(file), 1), 50))
    assert {design[outer] for design in designs} == {"ring", "switch"}
    for design in designs:
        assert (asked.amounts(design) is None) == (design[outer] == "switch")
        assert unasked.amounts(design) == (1.0,)


@pytest.mark.parametrize("limit", [False, True])
def test_a_metric_that_model0_does_not_give_is_refused_before_the_search(limit: bool) -> None:
    asked: dict[str, Any] = {"objectives": {"iteration_time": "minimise", "power": "minimise"}}
    if limit:
        asked = {"constraints": [{"objective": "power", "at_most": "100 kW"}]}
    study = compile_study({k: v for k, v in P5.items() if k != "reference_point"} | asked)
    with pytest.raises(ConfigError, match=r"model0 gives iteration_time_s, .* but got 'power_w'"):
        build_evaluator(study.evaluator_input).check()


def test_costs_that_are_no_numbers_end_the_study_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    study = from_outside()
    told = MachineCosts(metrics=lambda design: {"capital_cost_usd": nan}, deciding=frozenset())
    monkeypatch.setattr(study.evaluator, "machine_costs", lambda what: told)
    prices = machine_prices(study)
    assert prices is not None
    with pytest.raises(SimulationError, match="must give a finite capital_cost_usd"):
        prices.amounts(next(random_designs(study, 0)))


def test_costs_that_need_an_evaluator_are_refused() -> None:
    class Late(Model0Evaluator):
        def machine_costs(self, what: EvaluatorInput) -> MachineCosts:  # type: ignore[override]
            raise AssertionError

    with pytest.raises(ConfigError, match=r"Late\.machine_costs: must be a class method"):
        EVALUATORS.add("late", Late)
