"""Prices that decide: new winners of a study if one price moves by 30 %.

Nothing is simulated again: iteration times stay, machines are priced anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dse.costs import PriceLine, price_lines
from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.money import CostFile, CostMeter
from dse.objectives import COST_METRICS, OBJECTIVES, Objective
from dse.results.result import StudyResult
from dse.study.trials import Trial
from simcore import Platform

SHARE = 0.3
"""Shift of each price, up and down."""

_OF_MACHINE = frozenset({"capital_cost_usd", "network_cost_usd", "power_w", "usd_per_hour"})
"""Costs whose product with the time is asked for too."""

MAX_DESIGNS = 1000
"""Most designs that are priced anew; those nearest to the winners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upset:
    """A move of one price that makes another design the best.

    Attributes:
        line: Name of the price.
        factor: What it is multiplied by.
        winner: Number of the trial that is then the best.
        loss: How much more the old winner then costs, as a share.
    """

    line: str
    factor: float
    winner: int
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Sensitivity of one measure's winner to single prices.

    Attributes:
        measure: What the winner is best in: an objective, or its product with the time.
        winner: Number of the best trial.
        lines: Names of the prices that the measure of some design depends on.
        upsets: Moves that make another design the best, the dearest first.
    """

    measure: str
    winner: int
    lines: tuple[str, ...]
    upsets: tuple[Upset, ...]


def price_sensitivity(result: StudyResult) -> list[Sensitivity]:
    """One entry per measure that depends on prices; none without costs, or with scenarios.

    A design whose measure is more than (1 + share) / (1 - share) times the best cannot become the
    best by a move of one price by that share, and is left out.
    """
    study = result.study
    rows = result.compared
    if study.file.cost is None or not rows or not study.evaluator.has_exact_prices:
        return []
    if study.goals.scenarios:  # which may have price books of their own
        return []
    desk = _Desk(result, study.file.cost)
    return [_of_measure(measure, desk, _near(rows, measure)) for measure in _measures(result)]


def _measures(result: StudyResult) -> list[Objective]:
    """The objectives that depend on prices, and the products of the machine's with the time."""
    goals = result.study.goals
    found = []
    for name, sense in goals.objectives.items():
        objective = OBJECTIVES[name]
        if sense == "minimise" and COST_METRICS & set(objective.metrics):
            found.append(objective)
            if "iteration_time" in goals.objectives and _OF_MACHINE.issuperset(objective.metrics):
                product = ("iteration_time_s", *objective.metrics)
                label = f"iteration time x {objective.label}"
                found.append(replace(objective, metrics=product, label=label))
    return found


def _near(rows: Sequence[Trial], measure: Objective) -> list[Trial]:
    """The designs that may win, from the best on."""
    values = {row.number: measure.value(row.evaluation.metrics) for row in rows}
    best = sorted(rows, key=lambda row: (values[row.number], row.number))
    limit = values[best[0].number] * (1 + SHARE) / (1 - SHARE)
    return [row for row in best if values[row.number] <= limit][:MAX_DESIGNS]


class _Desk:
    """Prices designs with books in which one line has moved."""

    def __init__(self, result: StudyResult, cost: CostFile) -> None:
        self._study, self._cost = result.study, cost
        self._runs = DesignRuns(result.study.evaluator_input)
        self._machines: dict[int, tuple[Platform, int]] = {}
        self.usual = CostMeter(cost, result.study.goals, result.study.folder)

    def machine(self, trial: Trial) -> tuple[Platform, int]:
        """The machine of a design, and the tokens that it trains per iteration."""
        if trial.number not in self._machines:
            run = self._runs.run(trial.design)
            self._machines[trial.number] = run.platform, run.workload.tokens
        return self._machines[trial.number]

    def lines(self, trials: Sequence[Trial]) -> list[PriceLine]:
        """The lines of the study's book, with the accelerators of *trials*."""
        return price_lines(self.usual.prices, [self.machine(trial)[0].npu for trial in trials])

    def values(self, trials: Sequence[Trial], measure: Objective, meter: CostMeter) -> list[float]:
        """The measure of each of *trials* at the prices of *meter*."""
        found = []
        for trial in trials:
            platform, tokens = self.machine(trial)
            metrics = trial.evaluation.metrics
            costs = meter.metrics(platform, metrics["iteration_time_s"], tokens)
            found.append(measure.value({**metrics, **costs}))
        return found

    def meter(self, line: PriceLine, factor: float) -> CostMeter:
        """The meter whose book has *line* at *factor* times its price."""
        moved = line.moved(self.usual.prices, factor)
        return CostMeter(self._cost, self._study.goals, self._study.folder, moved)


def _of_measure(measure: Objective, desk: _Desk, trials: Sequence[Trial]) -> Sensitivity:
    usual = desk.values(trials, measure, desk.usual)
    lines, upsets = dict[str, None](), []
    for line in desk.lines(trials):
        for factor in (1 - SHARE, 1 + SHARE):
            values = desk.values(trials, measure, desk.meter(line, factor))
            if values != usual:
                lines[line.name] = None
            best = min(range(len(trials)), key=lambda i: (values[i], i))
            if values[best] < values[0]:
                loss, winner = values[0] / values[best] - 1, trials[best].number
                upsets.append(Upset(line=line.name, factor=factor, winner=winner, loss=loss))
    return Sensitivity(
        measure=measure.label,
        winner=trials[0].number,
        lines=tuple(lines),
        upsets=tuple(sorted(upsets, key=lambda upset: (-upset.loss, upset.line))),
    )


def told(found: Sensitivity) -> list[str]:
    """Sentences for a reader."""
    first = f"Trial {found.winner} is the best in {found.measure}"
    if not found.upsets:
        return [f"{first}, and stays so if any one price moves by {SHARE:.0%}."]
    lines = [f"{first}. A move of one price by {SHARE:.0%} changes that:"]
    for upset in found.upsets:
        turn = "higher" if upset.factor > 1 else "lower"
        lines.append(
            f"{upset.line} {turn}: trial {upset.winner} is the best, and trial {found.winner} "
            f"{upset.loss:.2%} dearer"
        )
    return lines
