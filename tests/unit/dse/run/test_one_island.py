"""One island on its worker, and the end behind all islands, with searches that are scripted."""

import math
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dse.evaluate import Evaluation, Limits
from dse.evaluate.workers.crew import Shared
from dse.run.islands import host, island, search
from dse.run.islands.host import Host
from dse.run.islands.island import Island
from dse.run.islands.messages import Made, News, Order, Report
from dse.run.islands.rounds import Rounds
from dse.run.islands.search import IslandSearch, Means
from dse.run.terms import Budget, Hooks
from dse.study.trials import Trial

NUMBER = 1
ROUNDS = Rounds(islands=3, length=4)


def trial_of(number: int, key: int, **more: Any) -> Trial:
    outcome = Evaluation(state="complete", objectives={"a": 1.0 + key}, duration_s=1.0)
    return Trial(number=number, design={"key": key}, evaluation=outcome, **more)


class Scripted:
    """A search whose trials are known beforehand; the latest one waits to be told."""

    def __init__(
        self, proposer: Any, evaluations: Any, budget: Budget, hooks: Hooks, *, screen: Any
    ) -> None:
        self.hooks = hooks
        self.trials: list[Trial] = []
        self.asked, self.is_exhausted = 0, False
        self.pauses: list[int] = []
        self.expected: dict[int, Trial] = {}
        self.heard: list[int] = []
        self.told_then: list[int] = []
        self.untold: list[tuple[Trial, int, int]] = []

    def run(self, *, settles: bool) -> None:
        assert not settles
        while not self.hooks.stopping():
            if self.hooks.pausing():
                self.pauses.append(self.asked)
                return
            repeats = 0 if self.asked == 2 else None
            trial = trial_of(self.asked, self.asked, repeats=repeats)
            self.untold.append((trial, 10 + self.asked, 20 + self.asked))
            self.asked += 1
            self.tell(but=1)

    def settle(self) -> None:
        self.tell(but=0)

    def waiting(self) -> Iterator[tuple[Trial, int, int]]:
        return iter(self.untold)

    def tell(self, *, but: int) -> None:
        while len(self.untold) > but:
            trial, key, genome = self.untold.pop(0)
            self.hooks.keyed(key, genome)
            self.trials.append(trial)
            self.hooks.folded(trial, 0)

    def expect(self, trials: Iterable[Trial]) -> None:
        self.expected |= {trial.number: trial for trial in trials}

    def hear(self, trials: Sequence[Trial], known: Any) -> None:
        self.heard += [trial.number for trial in trials]
        self.told_then.append(len(self.trials))


class Screen:
    """A screen that has worked out nothing."""

    def __init__(self, *given: Any) -> None:
        return

    def worked_out(self) -> dict[Any, Any]:
        return {}


class Here:
    """An island of its own kind: the search within is scripted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[Scripted] = []

        def scripted(*given: Any, **more: Any) -> Scripted:
            made.append(Scripted(*given, **more))
            return made[0]

        monkeypatch.setattr(island, "Search", scripted)
        monkeypatch.setattr(island, "row_of", lambda table, trial: (table, trial))
        monkeypatch.setattr(island, "StudyScreen", Screen)
        monkeypatch.setattr(island, "study_proposer", lambda *given, **more: None)
        study: Any = _Study()
        nothing: Any = None
        self.island = Island(study, NUMBER, ROUNDS, (), nothing, nothing)
        self.search = made[0]

    def go_on(self, turn: int, until_s: float = math.inf, **more: Any) -> tuple[Report, Made]:
        order = Order(island=NUMBER, turn=turn, share=4, shares=(4, 4, 4), provenance=5, **more)
        report = self.island.go_on(order, until_s)
        assert report.made is not None
        return report, report.made.value()


class _Study:
    """As much of a study as an island looks at."""

    class goals:
        objectives = ("a",)

    class file:
        class search:
            repeats = False
            gap = hypervolume_gap = None


def told(made: Made, turn: int) -> list[Trial]:
    """The trials of a round, under the numbers of the study."""
    numbers = ROUNDS.numbers(NUMBER, turn)
    return [made.trials.trial(place, number) for place, number in enumerate(numbers)]


def keys(made: Made) -> list[tuple[int, int]]:
    """What ``Hooks.keyed`` gets of each trial."""
    return list(zip(made.outcomes["key"].tolist(), made.outcomes["genome"].tolist(), strict=True))


def test_an_island_reports_what_it_made_under_the_numbers_of_the_study(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Here(monkeypatch)
    report, made = here.go_on(0)
    assert (report.island, report.turn, report.first, report.count) == (NUMBER, 0, 0, 4)
    rows = [trial_of(3 * own + NUMBER, own, provenance=5) for own in range(4)]
    assert told(made, 0) == rows, "which of them are repeats is told by the driver alone"
    assert made.rows.plain == [("trial", row) for row in rows]
    assert keys(made) == [(10, 20), (11, 21), (12, 22), (13, 23)]
    assert made.outcomes["objectives"].tolist() == [[1.0], [2.0], [3.0], [4.0]]
    assert made.outcomes["duration_s"].tolist() == [1.0] * 4
    report, made = here.go_on(1)
    assert (report.turn, report.first, report.count) == (1, 0, 4)
    assert keys(made)[0] == (14, 24)


def test_what_is_stored_is_expected_as_if_it_were_new_and_told_if_it_is_another_design(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Here(monkeypatch)
    here.go_on(0)
    stored = {0: trial_of(13, 4), 2: trial_of(19, 6, repeats=3), 3: trial_of(22, 99)}
    _, made = here.go_on(1, stored=stored)
    assert here.search.expected == {
        4 + place: replace(trial, number=4 + place, repeats=None) for place, trial in stored.items()
    }
    new = [trial_of(16, 5, provenance=5), trial_of(22, 7, provenance=5)]
    assert told(made, 1) == [trial_of(13, 4), new[0], trial_of(19, 6), new[1]]
    assert made.rows.plain == [("trial", row) for row in new]


def test_an_island_hears_the_news_once_and_nothing_of_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Here(monkeypatch)
    trials, known = [trial_of(n, n) for n in range(6)], np.array([[1, 1]], np.int64)
    news = News(turn=0, trials=trials, known=known)
    shared = Shared(pickle.dumps(news))
    for until_s in (0.0, math.inf):
        here.go_on(0, until_s, news=shared)
        assert here.search.heard == [0, 2, 3, 5]


def test_an_island_reports_before_it_learns_and_learns_before_it_hears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Here(monkeypatch)
    news = Shared(pickle.dumps(News(turn=0, trials=[], known=np.zeros((0, 2), np.int64))))
    assert here.go_on(0)[0].count == 4
    assert len(here.search.trials) == 3, "the last one is reported, and nobody has learned from it"
    assert here.go_on(1, news=news)[0].count == 4
    assert here.search.told_then == [4]


def test_an_island_that_learns_while_nobody_waits_reports_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for rests in (False, True):
        here = Here(monkeypatch)
        made = []
        for turn, until_s in [(0, 0.0), (0, math.inf), (1, 0.0), (1, math.inf), (2, math.inf)]:
            made.append(here.go_on(turn, until_s))
            if rests:
                here.island.settle()
                assert not here.search.untold
        found.append([(r.turn, r.first, r.count, list(m.trials), keys(m)) for r, m in made])
    assert found[0] == found[1]
    assert sum(count for _, _, count, *_ in found[0]) == 12


@pytest.mark.parametrize("cause", [ValueError("from a sampler"), MemoryError()])
def test_what_fails_while_nobody_waits_is_told_by_the_next_order(
    monkeypatch: pytest.MonkeyPatch, cause: Exception
) -> None:
    def fails() -> None:
        raise cause

    here = Here(monkeypatch)
    here.go_on(0)
    with monkeypatch.context() as patched:
        patched.setattr(here.search, "settle", fails)
        here.island.settle()
    with pytest.raises(type(cause)):
        here.go_on(1)


def test_an_island_reports_once_its_time_is_up_and_one_trial_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Here(monkeypatch)
    for turn, place in [(0, 0), (0, 1), (0, 2)]:
        report, made = here.go_on(turn, until_s=time.monotonic())
        assert (report.first, report.count, len(made.trials)) == (place, 1, 1)
    report, _ = here.go_on(0, until_s=math.inf)
    assert (report.first, report.count) == (3, 1)
    assert here.go_on(1, until_s=math.inf)[0].count == 4
    assert here.search.pauses == [1, 2, 3]


def test_a_worker_without_memory_does_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def reported(self: Host, order: Order, until_s: float) -> Report:
        return Report(island=order.island, turn=order.turn, is_out_of_memory=order.island == 1)

    worker = SimpleNamespace(start=lambda: None)
    monkeypatch.setattr(host, "Worker", lambda *given, **more: worker)
    monkeypatch.setattr(host, "_Switched", lambda *given: None)
    monkeypatch.setattr(Host, "_report", reported)
    what: Any = SimpleNamespace(evaluator=None, study=SimpleNamespace(files=None))
    orders = [(0, 0), (1, 0), (1, 1), (2, 0)]
    here = Host(what, "w0", Limits(), None, alone=True)
    found = here.evaluate(
        [Order(island=one, turn=turn, share=4, shares=(4,)) for one, turn in orders]
    )
    assert [(report.island, report.turn) for report in found if isinstance(report, Report)] == (
        orders[:2]
    )


@dataclass
class Islands:
    """Islands that find some rows at once, or take up those that are there."""

    rows: Sequence[Trial]
    adopted: Sequence[Trial] = ()
    lives: int = 0
    trials: Sequence[Trial] = ()
    is_done: bool = True
    is_short: bool = False
    is_proven: bool = False
    facts: Sequence[Shared] = (Shared(b"\x80\x04K\x01."), Shared(b"\x80\x04K\x02."))

    def run(self, *given: Any) -> dict[int, str]:
        self.lives += 1
        self.trials = self.rows
        return {0: "m"}

    def conclude_proof(self) -> None:
        """Nothing is proven."""

    def adopt(self, rows: Sequence[Trial]) -> None:
        self.adopted = self.trials = rows


@dataclass
class Last:
    """The search at the end; notes what it goes on from."""

    taken: Sequence[Trial] = ()
    runs: int = 0

    def take_up(self, trials: Sequence[Trial]) -> bool:
        self.taken = trials
        return True

    def run(self) -> None:
        self.runs += 1


@dataclass
class Whole:
    """A study's search by islands, of so many rows before its end."""

    first_of_end: int | None
    known: Sequence[Trial]
    ended: list[int] = field(default_factory=list)
    took: list[Any] = field(default_factory=list)

    def run(self, monkeypatch: pytest.MonkeyPatch, rows: Sequence[Trial]) -> tuple[Islands, Last]:
        islands = Islands(rows)
        monkeypatch.setattr(search, "Archipelago", lambda *given: islands)
        ready: list[Any] = []
        nothing: Any = None
        dispatcher: Any = type("Ready", (), {"take_over": ready.append})
        hooks = Hooks(
            finished=_ignore, folded=_ignore, stopping=lambda: False, ending=self.ended.append
        )
        means = Means(
            signs={},
            trims=False,
            crew=nothing,
            dispatcher=dispatcher,
            limits=nothing,
            waiting=_ignore,
            happened=_ignore,
            forget=_ignore,
            take=self.took.append,
            first_of_end=self.first_of_end,
        )
        last: Any = Last()
        budget = Budget(trials=100, window=4)
        IslandSearch(last, ROUNDS, budget, hooks, self.known, means).run()
        assert len(ready) == islands.lives
        return islands, last


_ignore: Callable[..., None] = lambda *given: None  # noqa: E731


def test_rows_before_a_known_end_are_taken_as_they_are_if_all_of_them_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [trial_of(number, number) for number in range(30)]
    cases: list[tuple[int | None, list[Trial], bool]] = [
        (20, rows, True),
        (20, rows[:20], True),
        (20, rows[:19], False),
        (20, rows[:7] + rows[8:], False),
        (None, rows, False),
        (0, [], False),
    ]
    for first, known, is_there in cases:
        whole = Whole(first, known)
        islands, last = whole.run(monkeypatch, rows[:20])
        assert islands.lives == (not is_there)
        assert islands.adopted == (rows[:20] if is_there else ())
        assert last.taken == rows[:20]
        assert last.runs == 1
        assert whole.ended == ([] if is_there else [20]), "the end is noted when it begins"
        assert whole.took == [1, 2], "what islands worked out is not worked out again"
