"""Answers for designs that need no simulation: over a limit for certain, or proven to be beaten."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Evaluation, Evaluator
from dse.evaluate.base import BOUND
from dse.objectives import Limit
from dse.proof.designs import check_bounded, objection, plan_knobs, why_blind
from dse.proof.least import least_metrics
from dse.proof.machines import OF_MACHINE, machines_of
from dse.rank.pareto import Front, beaten, no_worse, non_dominated
from dse.samplers.design import Genome, Genomes, GenomeSpace
from dse.samplers.design.archive import KeyTable
from dse.samplers.design.columns.genomes import Keys
from dse.samplers.design.screen import Answers
from dse.space import Design, Value
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import InfeasibleError

Floats = NDArray[np.float64]


class NoScreen:
    """Knows nothing: every design is simulated."""

    def canonical(self, design: Design) -> Design:
        """The design that stands for all that provably have the same outcome."""
        return design

    def hear(self, trials: Sequence[Trial]) -> None:
        """Take note of feasible trials of others, under the numbers that the study gives them."""

    def verdict(self, design: Design, genome: Genome | None = None) -> Evaluation | None:
        """The outcome of a design that need not be simulated; None: it must be.

        *genome*: the same design, where that is known.
        """
        return None

    def learn(self, trial: Trial) -> None:
        """Take note of a trial; called in ask order, so that verdicts depend on nothing else."""

    def recall(self, trials: Sequence[Trial]) -> None:
        """Be as if *trials* had been learned, one after the other."""
        for trial in trials:
            self.learn(trial)


_MEETINGS = 3
"""Trials with a plan before its closer bound is asked: it is worth what several simulations are."""

_PART = 32
"""Likewise, at least one in so many of all trials: so it is asked for few plans at any time."""

_MOST_HOPELESS = 1 << 17
"""Designs remembered as left no room; then they are forgotten, which costs time alone."""

_MOST_KEPT = 1 << 16
"""Designs whose bounds are remembered, 40 bytes each, likewise: a lesson is about thousands."""

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Rows = NDArray[np.int32]
Plan = tuple[Value | None, ...]
Metrics = Mapping[str, float]

Facts = Mapping[tuple[int, str, Any, str], bytes]
"""Packed facts of plans by number of dimensions, part, number and scenario; of checks by 0, number
of the book, and key there."""

_OF_CHECKS = 0


class StudyScreen(NoScreen):
    """Knowledge of a study about designs before they are simulated.

    The price of a machine is exact, and no iteration is shorter than its lower bound. So a design
    is over a limit if it is at that bound, and beaten if a finished feasible design is as good as
    that bound in all objectives and better in one. Neither can be wrong: no design of the front is
    ever turned down.

    The floor of a plan is asked first. The bound of a design is closer, but a plan that is new to
    it takes as long as several simulations: it is asked for plans that have been met before.

    Attributes:
        genomes: The designs of the study.
        checks: Rules that are known without evaluating a design.
        state: Rises with each trial that rules out designs.
    """

    def __init__(
        self,
        study: Study,
        evaluator: Evaluator,
        named: Callable[[int], int] = lambda number: number,
    ) -> None:
        """*named*: number that the study gives to a trial that is learned."""
        self._named = named
        self._study, self._evaluator = study, evaluator
        self._compares = not why_blind(study)
        self._is_bounded = study.file.search.screening and not objection(check_bounded, study)
        known = machines_of(study).known if self._is_bounded else frozenset[str]()
        limits = tuple(limit for limit in study.goals.limits if _is_decided(limit, known))
        self._decided = replace(study.goals, limits=limits)
        self.genomes = GenomeSpace(study.space)
        self.checks = evaluator.checks()
        books = [check.facts for check in self.checks if check.facts is not None]
        self._books = {str(number): book for number, book in enumerate(dict.fromkeys(books))}
        self._plan_knobs = plan_knobs(study)
        self._plan_answers = Answers(self.genomes, self._plan_of, frozenset(self._plan_knobs))
        self._met: dict[Plan, array[int]] = {}  # numbers of the trials with a plan
        self._told = 0
        self._front: Front[int] = Front()
        self._hopeless: set[Genome] = set()
        self._floors, self._bounds = _Least(self, closer=False), _Least(self, closer=True)
        self.state = 0

    def canonical(self, design: Design) -> Design:
        return self._evaluator.canonical(design)

    def learn(self, trial: Trial) -> None:
        self._meet(trial)
        if self._compares and trial.is_feasible and trial.repeats is None:
            found = trial.evaluation.objectives
            point = [found[name] for name in self._study.goals.objectives]
            self.state += self._front.add(self._named(trial.number), point)

    def hear(self, trials: Sequence[Trial]) -> None:
        if self._compares:
            for trial in trials:
                found = trial.evaluation.objectives
                point = [found[name] for name in self._study.goals.objectives]
                self.state += self._front.add(trial.number, point)

    def _meet(self, trial: Trial) -> None:
        self._met.setdefault(self._plan_of(trial.design), array("l")).append(trial.number)
        self._told = trial.number + 1

    def _is_worth(self, plan: Plan, told: int) -> bool:
        """True if the closer bound of a plan is asked for after so many trials."""
        met = self._met.get(plan, ())
        return bisect_left(met, told) >= max(_MEETINGS, told // _PART)

    def recall(self, trials: Sequence[Trial]) -> None:
        self.state += 1
        for trial in trials:
            self._meet(trial)
        if self._compares:
            found = [t for t in trials if t.is_feasible and t.repeats is None]
            names = tuple(self._study.goals.objectives)
            values = [[trial.evaluation.objectives[name] for name in names] for trial in found]
            points = np.array(values).reshape(-1, len(names))
            for at in np.flatnonzero(non_dominated(points)).tolist():
                self._front.add(found[at].number, points[at])

    def worked_out(self) -> Facts:
        """Facts of plans that this process has worked out since this was last asked, packed.

        Every process works out the same ones: whoever takes them is spared the time, no more.
        """
        found: dict[tuple[int, str, Any, str], bytes] = {
            (_OF_CHECKS, name, key, ""): fact
            for name, book in self._books.items()
            for key, fact in book.worked_out().items()
        }
        for dimensions in self._study.space.dimensions if self._is_bounded else ():
            bounds = least_metrics(self._study, dimensions).worked_out()
            found |= {(dimensions, name, key, end): fact for name, key, end, fact in bounds}
        return found

    def take(self, facts: Facts) -> None:
        """Take facts of plans that another process has worked out for this study."""
        for dimensions in sorted({of[0] for of in facts}):
            own = [(*of[1:], fact) for of, fact in facts.items() if of[0] == dimensions]
            if dimensions == _OF_CHECKS:
                for name, book in self._books.items():
                    book.take({key: fact for at, key, _, fact in own if at == name})
            else:
                least_metrics(self._study, dimensions).take(own)

    def is_hopeful(self, design: Design) -> bool:
        """True if the trials so far leave room for *design*.

        Once they leave none, later ones do not either: samplers that come back to a design in a
        small space, thousands of times, are answered from memory.
        """
        genome = self._genome_of(design)
        if genome in self._hopeless:
            return False
        if self.verdict(design) is None:
            return True
        if len(self._hopeless) >= _MOST_HOPELESS:
            self._hopeless.clear()
        self._hopeless.add(genome)
        return False

    def of(self, genomes: Genomes, since: int) -> Floats:
        """(N, M) the least that the objectives of designs can be.

        Infinite where a limit is exceeded for certain, minus infinity where nothing is known.

        Args:
            genomes: The designs.
            since: Trials that were known when they were bred: plans met often enough by then are
                asked for the closer bound.
        """
        if not self._is_bounded:
            return np.full((len(genomes), len(self._study.goals.objectives)), -np.inf)
        least = self._floors.of(genomes)
        places, inverse = np.unique(self._plan_answers.places(genomes), return_inverse=True)
        plans = map(self._plan_answers.known.__getitem__, places.tolist())
        worth = np.array([self._is_worth(plan, since) for plan in plans], bool)
        at = np.flatnonzero(worth[inverse] & (least < np.inf).all(axis=1))
        if at.size:
            least[at] = np.maximum(least[at], self._bounds.of(genomes.at(at)))
        return least

    def closest(self, genomes: Genomes) -> Floats:
        if not self._is_bounded:
            return np.full((len(genomes), len(self._study.goals.objectives)), -np.inf)
        least = self._floors.of(genomes)
        at = np.flatnonzero((least < np.inf).all(axis=1))
        if at.size:
            least[at] = np.maximum(least[at], self._bounds.of(genomes.at(at)))
        return least

    def plans(self, genomes: Genomes) -> Ints:
        return self._plan_answers.places(genomes)

    def are_left(self, least: Floats) -> Flags:
        """(N,) True where the trials so far leave room for designs with *least* objectives."""
        left: Flags = np.asarray((least < np.inf).all(axis=1))
        return left & ~beaten(self._front.points, least) if self._front.kept else left

    def verdict(self, design: Design, genome: Genome | None = None) -> Evaluation | None:
        if not self._is_bounded or not (self._decided.limits or self._front.kept):
            return None
        is_met = self._is_worth(self._plan_of(design), self._told)
        genome = self._genome_of(design) if genome is None else genome
        for bounds in (self._floors, self._bounds) if is_met else (self._floors,):
            least = bounds.of_one(genome)
            if np.inf in least.tolist():
                row = np.array([self.genomes.rows(genome)], np.int32)
                known = least_metrics(self._study, genome.dimensions)
                return self._refused(known.metrics(row, closer=bounds is self._bounds))
            if self._front.kept and self._front.beats(least):
                return self._beaten(least)
        return None

    def least(self, dimensions: int, rows: Rows, closer: bool) -> Floats:
        """(N, M) least objectives of designs with one number of *dimensions*; see ``of``."""
        goals = self._study.goals
        result = np.full((len(rows), len(goals.objectives)), -np.inf)
        found = least_metrics(self._study, dimensions).columns(rows, closer=closer)
        if not found.columns:
            result[found.has_none] = np.inf
            return result
        if self._compares:
            result[:] = found.objectives(goals)
        result[found.exceed(self._decided) | found.has_none] = np.inf
        result[found.unknown] = -np.inf
        return result

    def _refused(self, metrics: Metrics | InfeasibleError | None) -> Evaluation:
        """The verdict on a design that cannot be built or exceeds a limit at its bound."""
        if isinstance(metrics, InfeasibleError):
            return _infeasible({metrics.rule: 1.0}, str(metrics))
        assert metrics is not None, "of what breaks a rule of the plan, no bound is known"
        excess = self._decided.violations(metrics)
        parts = ((limit.broken, excess[limit.name]) for limit in self._decided.limits)
        told = (f"{broken} at least {part:.1%}" for broken, part in parts if part > 0)
        return _infeasible(excess, "; ".join(told))

    def _beaten(self, least: Floats) -> Evaluation:
        """The verdict on a design that some trial beats even at its bound, (M,)."""
        front = self._front
        better = no_worse(front.points, least) & ~no_worse(least, front.points)
        reason = f"trial {front.kept[int(better.argmax())]} is better than this design can be"
        objectives = dict(zip(self._study.goals.objectives, least.tolist(), strict=True))
        return Evaluation(state="pruned", objectives=objectives, fidelity=BOUND, reason=reason)

    def _genome_of(self, design: Design) -> Genome:
        genome = self.genomes.genome(design)
        assert genome is not None, "proposals are designs of the space"
        return genome

    def _plan_of(self, design: Design) -> Plan:
        return tuple(map(design.get, self._plan_knobs))


class _Least:
    """Least objectives of the designs asked about lately; facts, whenever they are asked for."""

    def __init__(self, screen: StudyScreen, *, closer: bool) -> None:
        self._screen, self._closer = screen, closer
        self._forget()

    def _forget(self) -> None:
        self._places, self._count = KeyTable(), 0
        self._rows: Floats = np.zeros((0, 1))

    def of_one(self, genome: Genome) -> Floats:
        """(M,) least objectives of one design; see ``StudyScreen.of``."""
        place = self._places.get(genome.key)
        return np.asarray(self._rows[place] if place >= 0 else self.of(Genomes.of([genome]))[0])

    def of(self, genomes: Genomes) -> Floats:
        """(N, M); see ``StudyScreen.of``."""
        if self._count > _MOST_KEPT:
            self._forget()
        keys = genomes.keys()
        places = self._places.find(keys)
        if (places < 0).any():
            new = np.flatnonzero(places < 0)
            self._learn(genomes.at(new), keys[new])
            places = self._places.find(keys)
        return np.asarray(self._rows[places])

    def _learn(self, genomes: Genomes, keys: Keys) -> None:
        for count in np.unique(genomes.dimensions).tolist():
            at = np.flatnonzero(genomes.dimensions == count)
            rows = self._screen.genomes.rows_of(genomes.at(at))
            found = self._screen.least(count, rows, self._closer)
            end = self._count + len(found)
            if end > len(self._rows):
                more = np.empty((max(end, 2 * len(self._rows)), found.shape[1]))
                more[: self._count] = self._rows[: self._count]
                self._rows = more
            self._rows[self._count : end] = found
            self._places.put(keys[at], np.arange(self._count, end, dtype=np.int32))
            self._count = end


def _infeasible(excess: Mapping[str, float], reason: str) -> Evaluation:
    return Evaluation(state="infeasible", constraints=excess, fidelity=BOUND, reason=reason)


def _is_decided(limit: Limit, known: frozenset[str]) -> bool:
    """True if a least time and the exact price of a machine may show that the limit is exceeded.

    *known*: metrics that follow from these two.
    """
    metrics = set(limit.metric.metrics)
    return metrics <= known & OF_MACHINE or (limit.sense == "at_most" and metrics <= known)
