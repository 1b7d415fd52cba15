"""One island of a study, tried out in this process: the time that its trials take."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dse.evaluate import Limits
from dse.run.islands.host import Host, IslandInput
from dse.run.islands.messages import Made, Order, Report
from dse.run.islands.rounds import Rounds
from dse.study.compile import Study
from simcore import SimulationError


@dataclass(slots=True, kw_only=True)
class Tried:
    """Trials of one island.

    Attributes:
        steps_s: Time of each; those of one report have as much.
        evaluated: Share of it in evaluations.
        trims: Whether the study ends with trims, which one search makes.
    """

    steps_s: list[float] = field(default_factory=list)
    evaluated: float = 0.0
    trims: bool = False


def try_island(study: Study, look_s: float, now_s: Callable[[], float]) -> Tried:
    """Let the first island of *study* make trials for a while; nothing is kept.

    It hears of no others, and its rounds are the first ones, which are not long yet. What its first
    report holds is left out: there the kernels are loaded.

    Args:
        study: A study whose file has ``search.islands`` above 1.
        look_s: Time after which no more trials are made.
        now_s: The clock.

    Raises:
        SimcoreError: A design ends the search, or the sampler fails.
    """
    search = study.file.search
    rounds = Rounds(islands=search.islands, length=search.window)
    what = IslandInput(study=study, evaluator=study.evaluator_input, rounds=rounds)
    host = Host(what, "tried", Limits(), None, alone=False)
    found, spent_s, wall_s = Tried(), 0.0, 0.0
    reports = _reports(host, rounds)
    next(reports)
    found.trims = host.island(0).trims
    begin_s = before_s = now_s()
    before_wall_s = time.perf_counter()
    for report in reports:
        end_s, end_wall_s = now_s(), time.perf_counter()
        if report.count and report.made is not None:
            made: Made = report.made.value()
            found.steps_s += [(end_s - before_s) / report.count] * report.count
            spent_s += float(made.outcomes["duration_s"].sum())
            wall_s += end_wall_s - before_wall_s
        before_s, before_wall_s = now_s(), time.perf_counter()
        if end_s - begin_s > look_s:
            break
    found.evaluated = min(spent_s / wall_s, 1.0) if wall_s else 0.0
    return found


def _reports(host: Host, rounds: Rounds) -> Iterator[Report]:
    """Reports of the first island, until it has no design left, each once it has learned from it.

    Raises:
        SimulationError: It cannot go on.
    """
    turn, done = 0, 0
    while True:
        shares = rounds.shares(turn)
        begins = turn == done == 0
        order = Order(island=0, turn=turn, share=shares[0], shares=shares, begins=begins)
        (report,) = host.evaluate([order])
        assert isinstance(report, Report), "an order is answered by a report"
        if report.error or report.made is None:
            raise SimulationError(report.error or "there is not enough memory")
        host.rest()
        done += report.count
        if done >= shares[0]:
            turn, done = turn + 1, 0
        yield report
        if report.is_exhausted:
            return
