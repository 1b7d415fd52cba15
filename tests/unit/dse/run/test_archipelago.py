"""Rounds of islands as the driver sees them, with islands whose proposals are scripted."""

import pickle
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from packed_trials import packed

from dse.evaluate import Crew, Evaluation, Limits
from dse.evaluate.workers.crew import Death, Message, Shared
from dse.run.ending import Ending
from dse.run.islands.archipelago import Archipelago, Bounds
from dse.run.islands.island import AHEAD
from dse.run.islands.messages import Order, Report
from dse.run.islands.rounds import Rounds
from dse.run.terms import Hooks
from dse.study.trials import Trial

ISLANDS, LENGTH = 3, 4
ROUNDS = Rounds(islands=ISLANDS, length=LENGTH)


def trial_of(number: int) -> Trial:
    """Some outcome; every fifth trial of island 2 is what island 0 had found a round before."""
    own, island = divmod(number, ISLANDS)
    key = number if island < 2 or own % 5 or own < LENGTH else (own - LENGTH) * ISLANDS
    goals = {"a": float(key % 7), "b": -float(key % 5)}
    outcome = Evaluation(state="complete", objectives=goals, duration_s=1.0)
    return Trial(number=number, design={"key": key}, evaluation=outcome, worker="w", provenance=2)


class Scripted(Crew):
    """Workers whose islands have so many designs each, and report some trials at a time."""

    def __init__(
        self,
        designs: Sequence[int],
        at_once: int = LENGTH,
        *,
        dies_at: int = -1,
        dies_late: bool = False,
        full_at: int = -1,
        slow: int = -1,
        killers: frozenset[int] = frozenset(),
        struck_at: frozenset[int] = frozenset(),
        rounds: Rounds = ROUNDS,
    ) -> None:
        """Workers of islands.

        Args:
            designs: Of each island.
            at_once: Trials of a report.
            dies_at: Order at which a worker dies.
            dies_late: Whether a worker dies once an island of its has no design left.
            full_at: Order for which a worker's memory does not suffice.
            slow: Island that reports trial by trial.
            killers: Trials whose designs end a worker that is not guarded.
            struck_at: Messages at which a worker is killed, whatever it does.
            rounds: Of the islands.
        """
        self.rounds = rounds.anew()
        self._designs, self._dies_at, self._full_at = designs, dies_at, full_at
        self._dies_late, self._killers, self._struck_at = dies_late, killers, struck_at
        self.sent = 0
        self._at_once = [1 if island == slow else at_once for island in range(ISLANDS)]
        self._made: list[dict[int, int]] = [{}, {}]  # of the islands of each worker
        self.evaluated: list[int] = []
        self._exhausted = set[int]()
        self.orders: list[Order] = []
        self.heard: dict[int, Any] = {}
        self._news = deque([Message(worker=worker, machine="m") for worker in range(2)])

    @property
    def workers(self) -> int:
        return 2

    def send(self, worker: int, chunk: Sequence[Order]) -> None:
        first, self.orders = len(self.orders), [*self.orders, *chunk]
        if self._dies_late and self._exhausted & self._made[worker].keys():
            self._dies_late, self._dies_at = False, first
        self.sent += 1
        is_struck = self.sent - 1 in self._struck_at
        if is_struck or first <= self._dies_at < len(self.orders) or self._kills(worker, chunk):
            death = Death(failure="crash", reason="it was killed")
            self._news.append(Message(worker=worker, death=death))
            return
        going = [order for order in chunk if not order.is_replay]
        assert len(going) == len({order.island for order in going}), "one round at a time"
        reports = []
        for at, order in enumerate(chunk, first):
            if at == self._full_at:
                full = Report(island=order.island, turn=order.turn, is_out_of_memory=True)
                reports.append(full)
                break
            reports.append(self._report(order, self._made[worker]))
        self._news.append(Message(worker=worker, answers=tuple(reports)))

    def _kills(self, worker: int, chunk: Sequence[Order]) -> bool:
        """Whether a design of *chunk* ends the worker."""
        for order in chunk:
            self.rounds.settle(order.turn, order.shares)
            island, base = order.island, self.rounds.first(order.island, order.turn)
            own = base if order.begins or order.is_replay else self._made[worker].get(island, base)
            own = max(own, base)
            last = min(own + self._at_once[island], base + order.share)
            made = {self.rounds.number(island, at) for at in range(own, last)}
            known = {self.rounds.number(island, base + place) for place in order.stored}
            if not order.is_guarded and (made - known) & self._killers:
                return True
        return False

    def _report(self, order: Order, made: dict[int, int]) -> Report:
        island = order.island
        if order.begins:
            made[island] = 0
        assert island in made, "the worker holds the islands that go on"
        assert island not in self._exhausted, "no design is left"
        if order.news is not None:
            self.heard[order.turn] = order.news.value()
        self.rounds.settle(order.turn, order.shares)
        own, base = made[island], self.rounds.first(island, order.turn)
        at_once = order.share if order.is_replay else self._at_once[island]
        last = min(base + order.share, self._designs[island], own + at_once)
        found = [trial_of(self.rounds.number(island, at)) for at in range(own, last)]
        keys = [number for trial in found for number in (int(trial.design["key"]) + 1, 1)]
        told = [order.stored.get(at - base, found[at - own]) for at in range(own, last)]
        new = [found[at - own].number for at in range(own, last) if at - base not in order.stored]
        news = packed([replace(trial, repeats=None) for trial in told], keys)
        news = replace(news, rows=replace(news.rows, plain=[(0, number) for number in new]))
        self.evaluated += new
        made[island] = last
        is_exhausted = last == self._designs[island] < base + order.share
        if is_exhausted:
            self._exhausted.add(island)
        return Report(
            island=island,
            turn=order.turn,
            first=own - base,
            count=len(told),
            new=len(new),
            made=Shared(pickle.dumps(news)),
            facts={(0, "plan", island, ""): b"fact"} if order.turn == 0 else {},
            is_exhausted=is_exhausted,
        )

    def receive(self, timeout_s: float) -> list[Message]:
        assert self._news, "islands wait for each other for ever"
        return [self._news.popleft()]

    def replace(self, worker: int) -> bool:
        self._made[worker] = {}
        self._news.append(Message(worker=worker, machine="m"))
        return True

    def close(self) -> None:
        return


@dataclass
class Life:
    """One life of an archipelago, and what became known of it."""

    crew: Scripted
    limit: int = 60
    ending: Any = field(default_factory=lambda: Ending(trials=60, window=LENGTH, trims=False))
    known: Sequence[Trial] = ()
    signs: dict[str, int] = field(default_factory=lambda: {"a": 1, "b": -1})
    stops_at: int = 10**9
    designs: int | None = None
    filed: list[int] = field(default_factory=list)
    folded: list[tuple[int, int]] = field(default_factory=list)

    def begun(self) -> Archipelago:
        hooks = Hooks(
            finished=lambda trial: None,
            folded=lambda trial, duplicates: self.folded.append((trial.number, duplicates)),
            stopping=lambda: len(self.folded) >= self.stops_at,
            filed=lambda rows: self.filed.extend(number for _, number in rows.plain),
            all_folded=lambda rows: self.folded.extend(
                (trial.number, duplicates) for trial, duplicates in rows.each()
            ),
        )
        bounds = Bounds(
            rounds=self.crew.rounds,
            limit=self.limit,
            ending=self.ending,
            signs=self.signs,
            designs=self.designs,
        )
        return Archipelago(bounds, hooks, self.known)

    def lived(self) -> Archipelago:
        found = self.begun()
        until_s = time.monotonic() + 20

        def waiting() -> None:
            assert time.monotonic() < until_s, "it does not end"

        found.run(self.crew, Limits(), waiting, lambda kind, text: None)
        return found


class Due(Ending):
    """An end that is due after so many trials."""

    at: int = 0

    def begins(self, rows: Sequence[Trial], asked: int) -> bool:
        return len(rows) == asked >= self.at


def check_rows(found: Archipelago, count: int) -> None:
    """See whether the first *count* trials are there, each repeat named by its first one."""
    first = dict[Any, int]()
    for number, row in enumerate(found.trials):
        own = trial_of(number)
        before = first.setdefault(own.design["key"], number)
        if before != number:
            blank = replace(own.evaluation, duration_s=0.0)
            own = replace(own, evaluation=blank, worker="", repeats=before)
        assert row == own
    assert len(found.trials) == count
    assert len(first) == count - found.duplicates
    assert [row.number for row in found.finished()] == list(range(count))
    assert found.is_done


@pytest.mark.parametrize("at_once", [1, 3, LENGTH])
@pytest.mark.parametrize(
    "designs", [(99, 9, 99), (10, 9, 99), (9, 10, 99), (99, 0, 1), (8, 8, 8), (20, 20, 19)]
)
def test_the_first_trial_that_an_island_lacks_ends_all_of_them(
    designs: tuple[int, ...], at_once: int
) -> None:
    life = Life(Scripted(designs, at_once))
    found = life.lived()
    gaps = [ROUNDS.number(island, count) for island, count in enumerate(designs)]
    check_rows(found, min(60, *gaps))
    assert found.is_short == (min(gaps) < 60)
    assert sorted(life.filed) == sorted(set(life.filed)), "nothing is evaluated twice"
    assert [number for number, _ in life.folded] == list(range(len(found.trials)))
    late = [
        order for order in life.crew.orders if ROUNDS.first(0, order.turn) > designs[order.island]
    ]
    assert not late, "nothing is asked of an island without designs"


@pytest.mark.parametrize("at_once", [1, LENGTH])
@pytest.mark.parametrize("begins", [12, 30, 37])
def test_the_rounds_that_may_have_begun_when_the_search_ends_are_the_last(
    begins: int, at_once: int
) -> None:
    ending = Due(trials=60, window=LENGTH, trims=False, signs={"a": 1})
    ending.at = begins
    found = Life(Scripted((99, 99, 99), at_once), ending=ending).lived()
    turn = -(-begins // 12) * 12
    check_rows(found, min(60, turn + 12 * AHEAD))
    assert not found.is_short
    short = Life(Scripted((99, 13, 99), at_once), ending=ending).lived()
    check_rows(short, min(40, turn + 12 * AHEAD))


def test_the_last_round_is_whole_where_rounds_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.run.islands.rounds._GROWN", 8)
    monkeypatch.setattr("dse.run.islands.rounds._PART", 2)
    rounds = Rounds(islands=ISLANDS, length=LENGTH, grows=True)
    ending = Due(trials=500, window=LENGTH, trims=False, signs={"a": 1})
    for turn in range(6):
        ending.at = rounds.begin(turn + 1)
        crew = Scripted((500, 500, 500), 500, rounds=rounds)
        found = Life(crew, limit=500, ending=ending).lived()
        check_rows(found, rounds.begin(turn + 1 + AHEAD))
    assert rounds.size(6) > rounds.size(5) > rounds.size(0), "so that it can fail"


@pytest.mark.parametrize("at_once", [1, LENGTH])
def test_islands_end_once_every_design_of_the_space_is_known(at_once: int) -> None:
    for designs, count in ((23, 24), (24, 36), (34, 36), (35, 48), (99, 84), (None, 84)):
        count = min(count + 12 * AHEAD, 84)
        found = Life(Scripted((99, 99, 99), at_once), limit=84, designs=designs).lived()
        check_rows(found, count)
        assert found.knows_all == (designs is not None and designs < 99)
        assert not found.is_short


@pytest.mark.parametrize("designs", [(99, 99, 99), (99, 13, 99)])
def test_what_is_stored_is_made_again_but_not_evaluated(designs: tuple[int, ...]) -> None:
    whole = Life(Scripted(designs))
    rows = whole.lived().trials
    for kept in (1, 17, 30, 39, len(rows)):
        known = [row for row in rows[:kept] if row.number != 5]
        life = Life(Scripted(designs), known=[replace(one, repeats=0) for one in known])
        found = life.lived()
        assert [row.design for row in found.trials] == [row.design for row in rows]
        assert [row.repeats for row in found.trials] == [row.repeats for row in rows]
        assert not set(life.filed) & {row.number for row in known}
        assert set(life.filed) >= {row.number for row in rows} - {row.number for row in known}
    assert len(life.crew.orders) > ISLANDS
    assert life.crew.heard.keys() == whole.crew.heard.keys()


@pytest.mark.parametrize("at_once", [1, LENGTH])
@pytest.mark.parametrize("designs", [(99, 99, 99), (99, 13, 99)])
def test_islands_of_a_worker_that_died_begin_anew_and_file_nothing_twice(
    designs: tuple[int, ...], at_once: int
) -> None:
    count = 60 if designs[1] > 20 else 40
    for dies_at in (0, 4, 9):
        life = Life(Scripted(designs, at_once, dies_at=dies_at))
        check_rows(life.lived(), count)
        assert len(life.filed) == len(set(life.filed))
        orders = life.crew.orders
        guarded = {(order.island, order.turn) for order in orders if order.is_guarded}
        killed = orders[dies_at]
        assert (killed.island, killed.turn) in guarded
        anew = [one for one in orders[dies_at + 1 :] if one.begins and one.island == killed.island]
        assert len(anew) == 1
        told = {of for facts in anew[0].facts for _, _, of, _ in facts.value()}
        assert told == set(range(ISLANDS)) or dies_at < 9, "the facts of all, its own too"


def test_an_island_without_designs_is_not_begun_anew() -> None:
    crew = Scripted((99, 13, 99), slow=0, dies_late=True)
    check_rows(Life(crew).lived(), 40)
    begun = [order.island for order in crew.orders if order.begins]
    assert sorted(begun) == [0, 0, 1, 2]


@pytest.mark.parametrize("stored", [0, 30])
@pytest.mark.parametrize("at_once", [1, LENGTH])
def test_islands_beside_one_whose_memory_did_not_suffice_begin_anew_with_what_they_reported(
    at_once: int, stored: int
) -> None:
    for full_at in (0, 1, 2, 5):
        crew = Scripted((99, 99, 99), at_once, full_at=full_at)
        check_rows(Life(crew, known=[trial_of(n) for n in range(stored)]).lived(), 60)
        assert sorted(crew.evaluated) == list(range(stored, 60)), "each once"
        full = crew.orders[full_at]
        guarded = {(order.island, order.turn) for order in crew.orders if order.is_guarded}
        assert guarded == (set() if full.is_replay else {(full.island, full.turn)})


@pytest.mark.parametrize("at_once", [1, LENGTH])
@pytest.mark.parametrize("stored", [0, 12, 30])
@pytest.mark.parametrize("struck_at", [(), (7, 9, 12), tuple(range(8, 60, 5))])
def test_designs_that_end_their_worker_are_guarded_wherever_a_study_begins_anew(
    struck_at: tuple[int, ...], stored: int, at_once: int
) -> None:
    killers = frozenset({32, 40, 41, 55})
    crew = Scripted((99, 99, 99), at_once, killers=killers, struck_at=frozenset(struck_at))
    life = Life(crew, known=[trial_of(n) for n in range(stored)])
    check_rows(life.lived(), 60)
    assert sorted(life.filed) == list(range(stored, 60)), "nothing is filed twice"
    replays = [order for order in crew.orders if order.is_replay]
    assert not any(order.is_guarded for order in replays), "they evaluate nothing"


def test_rows_that_are_taken_up_as_they_are_count_as_they_did() -> None:
    life, again = Life(Scripted((99, 99, 99))), Life(Scripted((99, 99, 99)))
    found, taken = life.lived(), again.begun()
    taken.adopt(found.trials)
    check_rows(taken, 60)
    assert again.folded == life.folded
    assert found.duplicates > 0, "so that it can fail"


def test_news_of_a_round_hold_all_of_it_and_its_best() -> None:
    life = Life(Scripted((99, 99, 99)))
    rows = life.lived().trials
    assert sorted(life.crew.heard) == list(range(AHEAD + 1, 5))
    for turn, news in life.crew.heard.items():
        first = 12 * (turn - AHEAD - 1)
        own = rows[first : first + 12]
        assert news.known[:, 0].tolist() == [int(row.design["key"]) + 1 for row in own]
        told = [row.number for row in own if row.repeats is None]
        assert [trial.number for trial in news.trials] == told
        assert all(trial.worker == "" for trial in news.trials)


def test_what_has_come_of_islands_that_are_stopped_is_kept() -> None:
    life = Life(Scripted((99, 99, 99), slow=1), stops_at=1)
    found = life.lived()
    assert 1 <= len(found.trials) < len(life.filed) < 60
    assert not found.is_done
    assert {row.number for row in found.finished()} == set(life.filed)


def test_repeats_are_dealt_as_what_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[bool]()
    monkeypatch.setattr(
        "dse.run.islands.archipelago.Dealing.conclude",
        lambda self, turn, are_cheap: told.extend(are_cheap.tolist()),
    )
    rows = Life(Scripted((99, 99, 99))).lived().trials
    assert told == [row.repeats is not None for row in rows]
    assert any(told), "so that it can fail"
