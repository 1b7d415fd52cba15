"""What studies ask of evaluators and of networks, from outside too: nothing that is not said."""

from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from guide import part
from small_study import STUDY

from dse.evaluate import EVALUATORS, Evaluator
from dse.evaluate.base import Account
from dse.objectives import Sense
from dse.proof.designs import KnownDesigns, check_bounded
from dse.proof.machines import machine_prices
from dse.run.cache import can_be_cached
from dse.space import Design
from dse.study.compile import compile_study
from simcore import BACKENDS, ConfigError

FIFO = part("fifo").Fifo


class Silent(Evaluator):
    def account(self, design: Design) -> Account:
        return Account({"iteration_time_s": 1.0, "capital_cost_usd": 1.0})


class Boastful(Silent):
    has_bounds: ClassVar[bool] = True


class Mute(Silent):
    bests: ClassVar[Mapping[str, Sense | None]] = {"iteration_time_s": None}


class Patient(FIFO):  # type: ignore[misc, valid-type]
    has_bounds = True


@pytest.fixture(autouse=True)
def _with_those_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EVALUATORS, "_entries", {**dict(EVALUATORS.items()), "silent": Silent})
    networks = {"fifo": FIFO, "patient": Patient}
    monkeypatch.setattr(BACKENDS, "_entries", {**dict(BACKENDS.items()), **networks})


def test_of_an_evaluator_that_promises_nothing_nothing_is_concluded() -> None:
    study = compile_study({**STUDY, "evaluator": "silent"})
    assert not can_be_cached(study)
    assert machine_prices(study) is None
    with pytest.raises(ConfigError, match="bounds are known for the simulator alone"):
        check_bounded(study)
    assert all(limit.name != "links_within_capacity" for limit in study.goals.limits)
    fidelity = {"search": {**STUDY["search"], "fidelity": ["congestion_unaware"]}}
    with pytest.raises(ConfigError, match="needs the evaluator simulator, but got 'silent'"):
        compile_study({**STUDY, **fidelity, "evaluator": "silent"})


def test_an_ability_that_needs_a_run_file_is_refused_where_there_is_none() -> None:
    with pytest.raises(ConfigError, match=r"has_bounds needs template = simcore\.RunTemplate"):
        EVALUATORS.add("boastful", Boastful)


def test_metrics_at_best_that_nothing_gives_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"Mute\.bests: must have best_metrics"):
        EVALUATORS.add("mute", Mute)


def with_backend(*names: str) -> dict[str, Any]:
    """A study whose run has the first backend, and where there are several, a knob of all."""
    space: dict[str, Any] = STUDY["space"]
    knob = {"backend": {"choices": list(names)}} if len(names) > 1 else {}
    space = {**space, "axes": {**space["axes"], **knob}}
    return {**STUDY, "run": {**STUDY["run"], "backend": names[0]}, "space": space}


@pytest.mark.parametrize("names", [("patient",), ("congestion_unaware", "patient")])
def test_bounds_hold_for_networks_that_say_so(names: tuple[str, ...]) -> None:
    check_bounded(compile_study(with_backend(*names)))


@pytest.mark.parametrize("names", [("fifo",), ("congestion_unaware", "fifo")])
def test_of_others_computing_alone_is_bounded_be_they_one_choice_among_several(
    names: tuple[str, ...],
) -> None:
    study = compile_study(with_backend(*names))
    check_bounded(study)
    sizes = [range(block.rows(2)) for block in study.space.blocks]
    rows = np.array(list(product(*sizes))[:: 7 * len(sizes)], np.int32)
    known = KnownDesigns(study, 2)
    bound_s = known.times_s(rows)
    has_messages = np.isfinite(bound_s) & (bound_s > known.compute_times_s(rows))
    designs = [study.space.design(2, row) for row in rows.tolist()]
    is_fifo = [design.get("backend", "fifo") == "fifo" for design in designs]
    assert has_messages.any() == (len(names) > 1)
    assert not has_messages[is_fifo].any()


def test_networks_from_outside_are_the_finest_levels_in_the_order_in_which_they_stand() -> None:
    levels = ["bound", "phases_together", "patient", "fifo"]
    study = compile_study({**STUDY, "search": {**STUDY["search"], "fidelity": levels}})
    assert study.levels == ("phases_together", "patient", "fifo")
    assert study.judged_at("fifo").evaluator_input.run["backend"] == "fifo"
    backwards = {**STUDY["search"], "fidelity": ["patient", "congestion_unaware"]}
    with pytest.raises(ConfigError, match="from coarse to fine"):
        compile_study({**STUDY, "search": backwards})
