"""Prices that decide: new winners of a study if one price moves, or a size is another one.

Nothing is simulated again: iteration times stay, machines are priced anew.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import inf

from dse.costs import PriceLine, SizeMove, price_lines, size_moves
from dse.costs.bill import Biller
from dse.evaluate import build_evaluator
from dse.evaluate.money import CostFile, CostMeter
from dse.evaluate.priced import PricedMachine
from dse.objectives import COST_METRICS, OBJECTIVES, Objective
from dse.results.result import StudyResult
from dse.study.trials import Trial
from simcore import InfeasibleError, Npu, Platform

SHARE = 0.3
"""Shift of each price, up and down; where sources of a part disagree by more, as far as they do."""

_OF_MACHINE = frozenset({"capital_cost_usd", "network_cost_usd", "power_w", "usd_per_hour"})
"""Costs whose product with the time is asked for too."""

MAX_DESIGNS = 1000
"""Most designs that are priced anew; those nearest to the winners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upset:
    """A move of one price or size that makes another design the best.

    Attributes:
        line: Name of the price or size.
        told: The move, in words.
        winner: Number of the trial that is then the best.
        loss: How much more the old winner then costs, as a share.
    """

    line: str
    told: str
    winner: int
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Sensitivity of one measure's winner to single prices.

    Attributes:
        measure: What the winner is best in: an objective, or its product with the time.
        winner: Number of the best trial.
        lines: Names of the prices and sizes that the measure of some design depends on.
        upsets: Moves that make another design the best, the dearest first.
    """

    measure: str
    winner: int
    lines: tuple[str, ...]
    upsets: tuple[Upset, ...]


def price_sensitivity(result: StudyResult) -> list[Sensitivity]:
    """One entry per measure that depends on prices; none without costs, or with scenarios.

    A design whose measure is more than (highest factor) / (lowest factor) times the best cannot
    become the best by a move of one price, and is left out, unless it is of the front: what its
    machine is made of is asked for too.
    """
    study = result.study
    rows = result.compared
    measures = _measures(result)
    if study.file.cost is None or not rows or not measures:
        return []
    if study.goals.scenarios:  # which may have price books of their own
        return []
    desk, front = _Desk(result, study.file.cost), {result.rows[at].number for at in result.front}
    if not desk.knows(rows[0]):
        return []
    reach = desk.reach([row for row in rows if row.number in front])
    return [_of_measure(measure, desk, _near(rows, measure, front, reach)) for measure in measures]


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


def _near(rows: Sequence[Trial], measure: Objective, front: Set[int], reach: float) -> list[Trial]:
    """The designs that may win, from the best on, and the whole *front*.

    Of several that are equally good one of the front is the best: no other beats it in the rest.

    Args:
        rows: Feasible ones.
        measure: What is best if least.
        front: Numbers of the designs of the front.
        reach: Ratio of measures that one move may turn around.
    """
    values = {row.number: measure.value(row.evaluation.metrics) for row in rows}
    best = sorted(rows, key=lambda row: (values[row.number], row.number not in front, row.number))
    limit = values[best[0].number] * reach
    near = [row for row in best if values[row.number] <= limit][:MAX_DESIGNS]
    listed = {row.number for row in near}
    return [*near, *(row for row in best if row.number in front - listed)]


class _Desk:
    """Prices designs with books in which one line or one size is another."""

    def __init__(self, result: StudyResult, cost: CostFile) -> None:
        self._study, self._cost = result.study, cost
        self._evaluator = build_evaluator(result.study.evaluator_input)
        self._machines: dict[int, PricedMachine] = {}
        self._platforms: dict[str, Platform] = {}
        self._meter = CostMeter(cost, result.study.goals, result.study.folder)
        self._counters: dict[tuple[str, str], _Counter] = {}
        self.usual = SizeMove(name="", told="", prices=self._meter.prices)

    def knows(self, trial: Trial) -> bool:
        """True if costs of *trial* are those of a machine at the prices of the book."""
        return self._evaluator.priced(trial.design, trial.evaluation.metrics) is not None

    def machine(self, trial: Trial) -> PricedMachine:
        """The machine of a design, and what it brings forth."""
        if trial.number not in self._machines:
            found = self._evaluator.priced(trial.design, trial.evaluation.metrics)
            if found is None:
                raise ValueError(f"costs of trial {trial.number} are not of the price book")
            text = found.platform.model_dump_json()  # one object for all machines that are alike
            platform = self._platforms.setdefault(text, found.platform)
            self._machines[trial.number] = replace(found, platform=platform)
        return self._machines[trial.number]

    def moves(self, trials: Sequence[Trial]) -> Iterator[SizeMove]:
        """Moves of each price of the book, of accelerators and parts of *trials*, and of sizes."""
        for line in self._lines(trials):
            for factor in line.factors(SHARE):
                moved = line.moved(self.usual.prices, factor)
                turn = "lower" if factor < 1 else "higher"
                yield SizeMove(name=line.name, told=f"{abs(factor - 1):.0%} {turn}", prices=moved)
        yield from size_moves(self.usual.prices, self._npus(trials))

    def reach(self, trials: Sequence[Trial]) -> float:
        """Ratio of the highest to the lowest factor of a price of *trials*."""
        return max(high / low for low, high in (x.factors(SHARE) for x in self._lines(trials)))

    def _lines(self, trials: Sequence[Trial]) -> list[PriceLine]:
        return price_lines(self.usual.prices, self._npus(trials), self._parts(trials))

    def _npus(self, trials: Sequence[Trial]) -> list[Npu]:
        return list(
            {npu.name: npu for npu in (self.machine(t).platform.npu for t in trials)}.values()
        )

    def _parts(self, trials: Sequence[Trial]) -> list[str]:
        """Names of the parts on the bills of *trials*; none where no cost is of a bill."""
        if "bill_of_materials" not in (self._cost.model, self._cost.network):
            return []
        biller, found = Biller(self.usual.prices), dict[str, None]()
        for trial in trials:
            found |= dict.fromkeys(x.part for x in biller.bill(self.machine(trial).platform).lines)
        return list(found)

    def values(self, trials: Sequence[Trial], measure: Objective, move: SizeMove) -> list[float]:
        """The measure of each of *trials* after a move; infinite where no such machine is sold."""
        if (move.name, move.told) not in self._counters:  # else another measure has asked for it
            goals, folder = self._study.goals, self._study.folder
            meter = CostMeter(self._cost, goals, folder, move.prices)
            self._counters[move.name, move.told] = _Counter(move, meter)
        counter = self._counters[move.name, move.told]
        return [counter.value(trial, self.machine(trial), measure) for trial in trials]


class _Counter:
    """Values of designs after one move; what their machines cost then is worked out once."""

    def __init__(self, move: SizeMove, meter: CostMeter) -> None:
        self._move, self._meter = move, meter
        self._machines: dict[int, Mapping[str, float] | None] = {}
        self._costs: dict[int, Mapping[str, float] | None] = {}

    def value(self, trial: Trial, machine: PricedMachine, measure: Objective) -> float:
        """The measure of *trial*; infinite where no such machine is sold."""
        if trial.number not in self._costs:
            self._costs[trial.number] = self._costs_of(machine)
        costs = self._costs[trial.number]
        if costs is None:
            return inf
        known = trial.evaluation.metrics  # dozens, of which the measure asks for two
        asked = {name: costs if name in costs else known for name in measure.metrics}
        return measure.value({name: own[name] for name, own in asked.items() if name in own})

    def _costs_of(self, machine: PricedMachine) -> Mapping[str, float] | None:
        own = id(machine.platform)  # of which the desk keeps one for all machines that are alike
        if own not in self._machines:
            try:
                moved = self._move.machine(machine.platform)
                self._machines[own] = self._meter.machine(moved)
            except InfeasibleError:
                self._machines[own] = None
        found = self._machines[own]
        return found and self._meter.timed(found, machine.period_s, machine.tokens)


def _of_measure(measure: Objective, desk: _Desk, trials: Sequence[Trial]) -> Sensitivity:
    usual = desk.values(trials, measure, desk.usual)
    lines, upsets = dict[str, None](), []
    for move in desk.moves(trials):
        values = desk.values(trials, measure, move)
        if values != usual:
            lines[move.name] = None
        best = min(range(len(trials)), key=lambda i: (values[i], i))
        if values[best] < values[0]:
            loss, winner = values[0] / values[best] - 1, trials[best].number
            upsets.append(Upset(line=move.name, told=move.told, winner=winner, loss=loss))
    return Sensitivity(
        measure=measure.label,
        winner=trials[0].number,
        lines=tuple(lines),
        upsets=tuple(sorted(upsets, key=lambda upset: (-upset.loss, upset.line, upset.told))),
    )


def told(found: Sensitivity) -> list[str]:
    """Sentences for a reader."""
    first = f"Trial {found.winner} is the best in {found.measure}"
    if not found.upsets:
        return [
            f"{first}, and stays so if any one price moves by {SHARE:.0%}, or as far as its "
            "sources disagree, and if any one size that prices hang on is half or twice as large."
        ]
    lines = [f"{first}. A move of one price by {SHARE:.0%} or more, or of a size, changes that:"]
    for upset in found.upsets:
        dearer = f"{upset.loss:.2%} dearer" if upset.loss < inf else "not to be had"
        lines.append(
            f"{upset.line} {upset.told}: trial {upset.winner} is the best, and trial "
            f"{found.winner} {dearer}"
        )
    return lines
