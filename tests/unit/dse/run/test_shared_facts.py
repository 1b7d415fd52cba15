"""Islands hand facts of plans on to each other; what they find is the same without."""

import pickle
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dse.evaluate import build_evaluator
from dse.evaluate.workers.crew import Shared
from dse.proof.screening import Facts, StudyScreen
from dse.run.islands import facts
from dse.run.islands.facts import SharedFacts
from dse.run.islands.messages import Report
from dse.study.compile import compile_study

sys.path.append(str(Path(__file__).resolve().parents[3] / "support"))

from small_study import STUDY, searched

from simcore import RunChecks


def report(island: int, *numbers: int) -> Report:
    return Report(island=island, turn=0, facts={(2, "plan", n, ""): b"fact" for n in numbers})


def told(shared: list[Shared]) -> set[int]:
    return {number for one in shared for _, _, number, _ in one.value()}


def test_an_island_is_told_once_what_others_were_the_first_to_work_out() -> None:
    shared = SharedFacts(3)
    shared.add(report(0, 1, 2))
    shared.add(report(1, 2, 3))
    assert told(list(shared.untold(0))) == {3}
    assert told(list(shared.untold(2))) == {1, 2, 3}
    assert not shared.untold(2)
    shared.add(report(2, 1, 4))
    assert told(list(shared.untold(0))) == {4}
    assert told(list(shared.untold(1))) == {1, 2, 4}
    assert told(list(shared.all)) == {1, 2, 3, 4}


def test_an_island_that_begins_anew_is_told_its_own_facts_too() -> None:
    shared = SharedFacts(2)
    shared.add(report(0, 1))
    shared.add(report(1, 2))
    shared.untold(0)
    shared.forget(0)
    assert told(list(shared.untold(0))) == {1, 2}


def test_facts_are_handed_on_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_BYTES", 2)
    shared = SharedFacts(2)
    shared.add(report(0, 1))
    shared.add(report(0, 2))
    assert told(list(shared.untold(1))) == {1}


@pytest.mark.parametrize(("islands", "asked"), [(2, 2), (16, 16), (32, 8), (4096, 1)])
def test_of_many_islands_few_are_asked_for_facts(islands: int, asked: int) -> None:
    shared = SharedFacts(islands)
    assert sum(shared.are_wanted(island) for island in range(islands)) == asked


KEPT = ("number", "state", "params.", "objectives.", "constraints.", "reason")


def test_what_islands_find_is_the_same_without_facts_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handed = list[int]()
    add = SharedFacts.add

    def counted(self: SharedFacts, report: Report) -> None:
        handed.append(len(report.facts))
        add(self, report)

    monkeypatch.setattr(SharedFacts, "add", counted)
    local: dict[str, Any] = {**STUDY, "execution": {"executor": "local", "workers": 2}}
    search: dict[str, Any] = {"sampler": "design", "trials": 120, "islands": 2, "window": 8}
    tables = []
    for room in (facts.MOST_BYTES, 0):
        monkeypatch.setattr(facts, "MOST_BYTES", room)
        rows = searched(local, **search).trials
        tables.append(rows[[name for name in rows if str(name).startswith(KEPT)]])
    assert sum(handed) > 20, "so that the test can fail"
    pd.testing.assert_frame_equal(tables[0], tables[1])


TWELVE: dict[str, Any] = {  # NPUs, so that some groups do not lie on the dimensions
    **STUDY,
    "run": {
        **STUDY["run"],
        "workload": {"model": "gpt3_175b_4layers", "sequence": 2048, "global_batch": 48},
        "plan": {"tp": 4, "dp": 3},
        "platform": {
            **STUDY["run"]["platform"],
            "dimensions": [
                {**dimension, "npus": npus}
                for dimension, npus in zip(
                    STUDY["run"]["platform"]["dimensions"], (4, 3), strict=True
                )
            ],
        },
    },
    "space": {
        **STUDY["space"],
        "products": [
            {"of": ["plan.tp", "plan.pp", "plan.dp"], "equals": 12},
            {"of": ["platform.dimensions[*].npus"], "equals": 12, "values": [2, 3, 4, 6]},
        ],
        "require": [],
    },
}


def verdicts_and_facts(
    screening: bool, told: Facts, monkeypatch: pytest.MonkeyPatch | None = None
) -> tuple[list[tuple[bool, ...]], Facts]:
    """What the checks of a new screen say of every design, and what it had not been told."""
    study = compile_study({**TWELVE, "search": {**TWELVE["search"], "screening": screening}})
    screen = StudyScreen(study, build_evaluator(study.evaluator_input))
    screen.worked_out()
    screen.take(pickle.loads(pickle.dumps(told)))
    if monkeypatch is not None:
        for name in ("groups", "memory", "fit"):
            monkeypatch.setattr(RunChecks, name, fail)
    found = [
        tuple([check.holds(design) for check in screen.checks]) for design in study.space.designs()
    ]
    return found, screen.worked_out()


def fail(*what: object) -> None:
    raise AssertionError("it was told")


@pytest.mark.parametrize("screening", [True, False])
def test_checks_that_are_told_facts_say_the_same_and_work_out_none(
    screening: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, facts = verdicts_and_facts(screening, {})
    assert set(expected) >= {(True, True), (True, False), (False, False)}, (
        "so that the test can fail"
    )
    assert verdicts_and_facts(screening, facts, monkeypatch) == (expected, {})


def test_checks_with_some_of_the_facts_say_the_same() -> None:
    expected, facts = verdicts_and_facts(True, {})
    found, rest = verdicts_and_facts(True, dict(list(facts.items())[::2]))
    assert found == expected
    assert len(rest) == len(facts) // 2


def test_facts_of_ranges_are_not_handed_on() -> None:
    """Values of a range are hardly met twice."""
    memory = {"low": "40 GB", "high": "80 GB"}
    axes = {**STUDY["space"]["axes"], "platform.npu.memory_capacity": memory}
    study = compile_study({**STUDY, "space": {**STUDY["space"], "axes": axes}})
    assert not [check for check in build_evaluator(study.evaluator_input).checks() if check.facts]
