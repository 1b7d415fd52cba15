"""Islands hand facts of plans on to each other; what they find is the same without."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dse.evaluate.workers.crew import Shared
from dse.run.islands import facts
from dse.run.islands.facts import SharedFacts
from dse.run.islands.messages import Report

sys.path.append(str(Path(__file__).resolve().parents[3] / "support"))

from small_study import STUDY, searched


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
