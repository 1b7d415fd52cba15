"""Islands: numbers of their trials, what they hear of each other, and where they live."""

import sys
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import dse
from dse.evaluate import Answer, Crew, Evaluation, Limits, Task
from dse.evaluate.workers.crew import Death, Message
from dse.run.islands import host
from dse.run.islands.fleet import MOST_LOSSES, Callbacks, Fleet
from dse.run.islands.island import AHEAD
from dse.run.islands.messages import Order, Report
from dse.run.islands.rounds import Rounds
from dse.run.proposing import island_seed
from dse.run.runner import Runner
from dse.study.compile import compile_study
from simcore import ConfigError, SimulationError

sys.path.append(str(Path(__file__).resolve().parents[3] / "support"))

from small_study import STUDY, exact_front, searched
from stopping import Stopping

KEPT = ("number", "state", "params.", "objectives.", "constraints.", "reason")


def table(result: dse.StudyResult) -> pd.DataFrame:
    rows = result.trials
    return rows[[name for name in rows if str(name).startswith(KEPT)]]


@pytest.mark.parametrize("islands", [2, 3, 7])
@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("limit", [1, 5, 28, 41, 5000])
@pytest.mark.parametrize("grows", [False, True])
def test_every_trial_is_one_island_s_and_more_trials_change_no_number(
    islands: int, length: int, limit: int, grows: bool
) -> None:
    rounds = Rounds(islands=islands, length=length, grows=grows)
    numbers = [
        rounds.number(island, rounds.first(island, turn) + place)
        for turn in range(rounds.turn(0, limit // islands) + 1)
        for island in range(islands)
        for place in range(rounds.share(island, turn, limit))
    ]
    assert sorted(numbers) == list(range(limit))


def test_islands_have_seeds_of_their_own() -> None:
    seeds = {island_seed(seed, island) for seed in range(20) for island in range(50)}
    assert len(seeds) == 1000


@pytest.mark.parametrize("grown", [8, 320])
@pytest.mark.parametrize("islands", [1, 3])
def test_later_rounds_are_a_tenth_of_what_there_is_and_proposed_at_once(
    islands: int, grown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.run.islands.rounds._GROWN", grown)
    rounds = Rounds(islands=islands, length=4, grows=True)
    for own in range(3000):
        turn = rounds.turn(0, own)
        first, size = rounds.first(0, turn), rounds.size(turn) // islands
        assert size == (max(4, first // 10) if first >= grown else 4)
        assert first <= own < rounds.proposed(0, own) <= first + size
        if size > 4:
            assert rounds.proposed(0, own) == first + size
        assert rounds.proposed(0, own) - own <= max(16, size)


@pytest.mark.parametrize(("sampler", "grown"), [("design", 320), ("design", 8), ("nsga2", 8)])
def test_a_study_of_islands_that_goes_on_with_more_trials_is_that_of_more_trials(
    sampler: str, grown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.run.islands.rounds._GROWN", grown)
    monkeypatch.setattr("dse.run.islands.rounds._PART", 2)
    file, out = tmp_path / "study.yaml", tmp_path / "out"
    search = {"sampler": sampler, "window": 4, "islands": 3}
    file.write_text(yaml.safe_dump({**STUDY, "search": search}))
    dse.run_study(file, trials=60, out=out)
    again: dict[str, Any] = {"resume": True, "accept_changes": True}  # parts are read once
    longer = dse.run_study(file, trials=110, out=out, **again)
    pd.testing.assert_frame_equal(table(longer), table(dse.run_study(file, trials=110)))
    once_more = dse.run_study(file, trials=110, out=out, **again)
    pd.testing.assert_frame_equal(table(once_more), table(longer))


def test_islands_without_designs_left_leave_the_rest_to_one_search() -> None:
    study = compile_study(STUDY)
    result = searched(STUDY, sampler="local", trials=2000, islands=3, window=8)
    new = [tuple(sorted(row.design.items())) for row in result.rows if row.repeats is None]
    assert len(new) == len(set(new))
    assert [row.number for row in result.rows] == list(range(len(result.rows)))
    assert {tuple(result.rows[at].evaluation.objectives.values()) for at in result.front} == (
        exact_front(study)
    )


SMALL: dict[str, Any] = {
    **STUDY,
    "space": {
        **STUDY["space"],
        "axes": {
            "plan.micro_batch": {"choices": [1, 2]},
            "platform.dimensions[0].bandwidth": {"ladder": ["20 GB/s", "200 GB/s"]},
        },
    },
}
"""A study of 144 designs, of which 12 are known to be infeasible."""


def test_islands_that_lack_designs_find_the_same_after_a_stop(tmp_path: Path) -> None:
    search = {"sampler": "local", "trials": 400, "islands": 2, "window": 8}
    study = compile_study({**SMALL, "search": {**SMALL["search"], **search}})

    def run(out: Path, *, resume: bool, rows: int = 1000) -> pd.DataFrame:
        found = Runner(study, out=out, resume=resume, watcher=Stopping(rows)).search(None)
        if rows == 1000:
            pd.testing.assert_frame_equal(table(dse.load_study(out)), table(found))
        return table(found)

    whole = run(tmp_path / "whole", resume=False)
    assert 132 < len(whole) < 400
    pd.testing.assert_frame_equal(run(tmp_path / "whole", resume=True), whole)
    run(tmp_path / "part", resume=False, rows=120)
    pd.testing.assert_frame_equal(run(tmp_path / "part", resume=True), whole)


@pytest.mark.parametrize("trials", [60, 400])
def test_islands_end_once_all_designs_are_known_and_tell_so(trials: int) -> None:
    result = searched(SMALL, sampler="random", trials=trials, islands=3, window=8)
    new = {str(row.design) for row in result.rows if row.repeats is None}
    knows_all = len(new) == 144
    assert knows_all == (trials == 400) == (len(result.rows) < trials)
    assert ("optimality_gap" in result.summary) == knows_all


def test_a_design_that_is_ruled_out_is_so_by_the_trial_that_its_row_names() -> None:
    result = searched(STUDY, sampler="random", trials=250, islands=3, window=4, screening=True)
    pruned = [row for row in result.rows if row.state == "pruned"]
    assert pruned, "so that the test can fail"
    for row in pruned:
        better = result.rows[int(row.evaluation.reason.split()[1])]
        least, found = row.evaluation.objectives, better.evaluation.objectives
        assert better.number < row.number or better.worker
        assert all(found[name] <= least[name] for name in least)
        assert found != least


def test_islands_hear_of_each_other_and_repeat_less() -> None:
    result = searched(STUDY, sampler="design", trials=150, islands=3, window=4)
    alone = {row.number % 3: set[str]() for row in result.rows[:3]}
    repeats = 0
    for row in result.rows[:100]:
        key = str(sorted(row.design.items()))
        island, turn = row.number % 3, row.number // 12
        repeats += row.repeats is not None
        if row.repeats is not None:
            assert row.repeats // 12 >= turn - AHEAD, "what was found before that is known"
        alone[island].add(key)
    assert repeats < 30


def test_trials_auto_ends_islands_once_they_do_not_improve() -> None:
    result = searched(STUDY, sampler="local", trials="auto", islands=2, window=8)
    assert 200 < len(result.rows) < 3000
    assert len(result.rows) % 16 == 0, "at the end of a round"


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ({"sampler": "exhaustive"}, "must be 1 with the sampler exhaustive"),
        ({"islands": 0}, "islands"),
    ],
)
def test_what_cannot_be_islands_is_told_in_one_sentence(search: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told) as error:
        searched(STUDY, **{"islands": 2, **search})
    assert len(str(error.value).splitlines()) == 1


class SlowEvaluations:
    """Evaluations that others' programs hold up, as the clock on the wall has it: 1 s each."""

    def __init__(self) -> None:
        self.chunks: list[int] = []
        self._tasks: list[Task] = []

    def submit(self, tasks: Iterable[Task]) -> None:
        self._tasks = list(tasks)
        self.chunks.append(len(self._tasks))

    def finished(self, timeout_s: float) -> list[Answer]:
        outcome = Evaluation(state="infeasible", duration_s=1.0)
        return [Answer(number=one.number, evaluation=outcome, worker="") for one in self._tasks]


@pytest.mark.parametrize("are_computed", [True, False])
def test_a_loaded_machine_evaluates_as_many_designs_at_once(are_computed: bool) -> None:
    evaluations = SlowEvaluations()
    queue = host._Queue(evaluations, lambda: are_computed)
    queue.submit(Task(number=number, design={}) for number in range(300))
    answers: list[Answer] = []
    while len(answers) < 300:
        answers += queue.finished(0.0)
    assert [answer.number for answer in answers] == list(range(300))
    assert (max(evaluations.chunks) > 50) == are_computed


class FakeCrew(Crew):
    """Workers that answer when they are told to."""

    def __init__(self, workers: int) -> None:
        self.count = workers
        self.sent: dict[int, Sequence[Order]] = {}
        self.news: deque[Message] = deque()

    @property
    def workers(self) -> int:
        return self.count

    def send(self, worker: int, chunk: Sequence[Order]) -> None:
        self.sent[worker] = chunk

    def receive(self, timeout_s: float) -> list[Message]:
        found, self.news = list(self.news), deque()
        return found

    def replace(self, worker: int) -> bool:
        self.sent.pop(worker, None)
        return True

    def close(self) -> None:
        return

    def come(self, worker: int) -> None:
        self.news.append(Message(worker=worker, machine=f"m{worker}"))

    def answer(self, new: int = 0) -> None:
        for worker, chunk in self.sent.items():
            reports = tuple(Report(island=one.island, turn=0, count=1, new=new) for one in chunk)
            self.news.append(Message(worker=worker, answers=reports))
        self.sent = {}

    def die(self, worker: int) -> None:
        death = Death(failure="crash", reason="it was killed")
        self.news.append(Message(worker=worker, death=death))


class Fleeting:
    """A fleet of islands that always have something to do."""

    def __init__(self, crew: FakeCrew, islands: int) -> None:
        self.moved: list[tuple[int, int | None]] = []
        calls = Callbacks(
            orders=lambda island: [Order(island=island, turn=0, share=1, shares=())],
            reported=lambda report: None,
            moved=lambda island, suspect: self.moved.append((island, suspect)),
            waiting=lambda: None,
            happened=lambda kind, text: None,
        )
        self.fleet, self.crew = Fleet(crew, islands, Limits(), calls), crew

    def step(self) -> dict[int, set[int]]:
        """The islands of each worker that was sent something."""
        self.fleet.receive(0.0)
        self.fleet.send()
        return {worker: {one.island for one in chunk} for worker, chunk in self.crew.sent.items()}


def test_islands_queue_on_few_workers_and_move_to_those_that_come() -> None:
    crew = FakeCrew(1)
    fleet = Fleeting(crew, 4)
    crew.come(0)
    assert fleet.step() == {0: {0, 1, 2, 3}}
    crew.count = 2
    crew.come(1)
    assert fleet.step() == {0: {0, 1, 2, 3}}, "they are busy"
    crew.answer()
    found = fleet.step()
    assert {len(islands) for islands in found.values()} == {2}
    assert set().union(*found.values()) == {0, 1, 2, 3}
    assert fleet.moved == [(3, None), (2, None)]


def test_islands_of_a_lost_worker_begin_anew_elsewhere_and_in_vain_only_so_often() -> None:
    crew = FakeCrew(2)
    fleet = Fleeting(crew, 2)
    crew.come(0)
    crew.come(1)
    assert fleet.step() == {0: {0}, 1: {1}}
    crew.die(1)
    fleet.step()
    assert fleet.moved == [(1, 0)]
    with pytest.raises(SimulationError, match="island 1 cannot go on: it was killed"):  # noqa: PT012
        for _ in range(MOST_LOSSES):
            crew.come(1)
            assert fleet.step()[1] == {1}
            crew.answer()  # of a round that is replayed, which shows nothing
            assert fleet.step()[1] == {1}
            crew.die(1)
            fleet.step()


def test_an_island_that_makes_a_trial_now_and_then_may_lose_any_number_of_workers() -> None:
    crew = FakeCrew(1)
    fleet = Fleeting(crew, 1)
    for number in range(3 * MOST_LOSSES):
        crew.come(0)
        assert fleet.step() == {0: {0}}
        if number % MOST_LOSSES == 0:
            crew.answer(new=1)
            assert fleet.step() == {0: {0}}
        crew.die(0)
        fleet.step()
    assert fleet.moved == [(0, 0)] * 3 * MOST_LOSSES
