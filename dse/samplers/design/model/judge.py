"""Hopes for designs, by a model of each objective that the best designs teach."""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Flags, Floats, Genome, Genomes, Ints
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.elite import Elite
from dse.samplers.design.model.aims import Aims
from dse.samplers.design.model.features import Effects, Features
from dse.samplers.design.model.improvement import Unsure, log_improvement, outlined_improvement
from dse.samplers.design.model.limits import Limits
from dse.samplers.design.model.refusals import Refusals
from dse.samplers.design.model.surrogate import GaussianProcess
from dse.samplers.design.pool import Hopes, Weights, scalarised

_OPTIMISM = 1.0
"""Standard deviations by which the model's guesses are lowered."""

_ENOUGH = 8
"""Feasible designs that the models need at least."""

_SAMPLE = 64
"""Designs from which length scales are learned."""

_TRIES = 5
"""Steps of the length scales tried each time; five times as many the first time."""

_SURE, _LAST = 0.9, 1e6
"""Likelihood from which a design counts as refused, and what it then promises less."""

_CAUTION = 2.0
"""Power of the likelihood that a design passes, by which its expected improvement counts.

Those chosen are the ones of which the model thinks too well.
"""

_GOOD, _POOR = 64, 0.2
"""Better targets, or half of all if that is more; and part by which the worse ones count."""

_SLIM = 1e-6
"""Likelihood to pass that every design is granted."""

_SHORT = 512
"""Designs of thousands among which several are chosen one after the other."""

_CERTAIN = 1e-9
"""Least standard deviation of a value, in spans of the front: that of exact ones."""


Improvement = Callable[[float, Floats, Floats], Floats]
"""Logarithms of expected improvements; see ``log_improvement``."""


Sheets = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Coordinates of designs for models, and for what tells which will be refused."""


class Judge:
    """Learns from the best designs so far."""

    def __init__(
        self,
        space: GenomeSpace,
        aims: Aims,
        seed: int,
        hopes: Hopes | None = None,
        *,
        is_whole: bool = False,
    ) -> None:
        """Know nothing yet.

        Args:
            space: Of the designs.
            aims: What is learned of them.
            seed: The same seed and the same designs teach the same.
            hopes: Proofs of what the objectives are at least; None: there are none.
            is_whole: Whether all designs of the space will be judged at once.
        """
        self._is_whole = is_whole
        self._features = Effects(space) if is_whole else Features(space)
        self._aims, self._hopes = aims, hopes
        self._seed, self._is_bounded = seed, False
        self._models: list[GaussianProcess] = []
        self._objectives = 1
        self._refusals, self._limits = Refusals(space), Limits(self._features)
        self._met: set[int] = set()
        self._room: int | None = None

    @property
    def is_led(self) -> bool:
        """True if proven bounds lead the guesses, or there are none but of refusals."""
        return self._is_bounded or not self._models

    def make_room(self, plans: int | None) -> None:
        """Let the closest bound be asked of so many plans of which it is not known; None: all."""
        self._room = plans

    def refuse(self, genome: Genome) -> None:
        """Note a design that was refused without any values: the next lesson is about it too."""
        self._refusals.note(genome)

    def exceed(self, genome: Genome, excess: float) -> None:
        """Note a design that broke a limit by the part *excess* of it, likewise."""
        self._limits.note(genome, excess)

    def learn(self, elite: Elite, told: int) -> None:
        """Fit the models to the designs of *elite*; *told* numbers the occasion."""
        random = Random((self._seed << 40 | told) + (1 << 80))
        self._objectives = elite.objectives
        if elite.feasible >= _ENOUGH:
            self._learn_values(elite, random)
        self._refusals.learn(elite.best(len(elite)), random)
        if elite.feasible >= _ENOUGH:
            kept = elite.best(elite.feasible)
            self._limits.learn(kept, elite.excesses(elite.feasible), _TRIES, random)

    def _learn_values(self, elite: Elite, random: Random) -> None:
        """Fit a model to each target of the feasible designs."""
        genomes, values, front = elite.lesson()
        self._front = values[:front]
        self._low = self._front.min(axis=0)
        self._span = np.maximum(values[: max(3, front)].max(axis=0) - self._low, 1e-9)
        points = self._features.of(genomes)
        targets = self._aims.targets(genomes, values)
        self._is_bounded = self._hopes is not None and elite.is_logarithmic
        expected = self._expected(genomes, all_closely=True)
        self._is_bounded = bool(expected.size)
        if self._is_bounded:
            targets = targets - expected
        elif self._is_whole:
            targets = squeezed(targets)
        tries = _TRIES
        if not self._models:
            tries *= 5
            owner, sums = self._features.owner, self._features.sums
            self._models = [GaussianProcess(owner, sums) for _ in targets.T]
        some = sorted(random.sample(range(len(points)), min(_SAMPLE, len(points))))
        for model, column in zip(self._models, targets.T, strict=True):
            model.learn_scales(points[some], column[some], tries, random)
            model.fit(points, column)

    def forget(self) -> None:
        """Begin again with the next lesson, so that what came long ago decides nothing."""
        self._models = []
        self._limits.forget()

    def hopes(self, genomes: Genomes) -> Floats | None:
        """Hopes of the models for each objective: 0 where the front begins, 1 where it ends.

        As if nothing were refused, and no limit broken: see ``doubts``.

        Returns:
            (N, M) float64; None: nothing is known.
        """
        if not self._models:
            is_known = self._refusals.is_known
            return np.zeros((len(genomes), self._objectives)) if is_known else None
        points = self._features.of(genomes)
        guessed = [model.guess(points) for model in self._models]
        hoped = np.stack([mean - _OPTIMISM * deviation for mean, deviation in guessed], axis=1)
        return self._promises(genomes, hoped, self._expected(genomes, all_closely=False))

    def doubts(self, genomes: Genomes) -> Floats | None:
        """(N, 1) what is added to ``hopes`` since designs may be refused; None: none has been.

        Before there are models, the likelihood alone.
        """
        if not len(genomes):
            return None
        broken = self._limits.likely(self._features.of(genomes))
        likely = _either(self._refusals.likely(genomes), broken)
        if likely is None:
            return None
        return averse(np.zeros((len(genomes), 1)), likely) if self._models else likely[:, None]

    def sheets(self, genomes: Genomes) -> Sheets:
        """Coordinates of *genomes* that are looked at each time that the best are ``chosen``."""
        return self._features.of(genomes).astype(np.float32), self._refusals.steps(genomes)

    def chosen(self, genomes: Genomes, sheets: Sheets, draws: Sequence[Weights]) -> Ints | None:
        """Numbers of the designs among thousands to try next, one for each of the weights *draws*.

        Each is expected to improve most on what is known, by its weights, and is chosen as if those
        before it were told already. None where too little is known, and where bounds are, to which
        the closest of each would have to be asked. *sheets*: see there.
        """
        points, steps = sheets
        likely = _either(self._refusals.likely_at(steps), self._limits.roughly(points))
        if self._is_bounded or (likely is None and not self._models):
            return None
        places, passes = np.arange(len(genomes)), np.zeros(len(genomes))
        if likely is not None:
            passes = _CAUTION * np.log(np.maximum(1.0 - likely, _SLIM))
            passes -= averse(np.zeros((len(genomes), 1)), likely)[:, 0]
        if not self._models:
            return np.argsort(-passes, kind="stable")[: len(draws)]
        if likely is not None and (likely <= _SURE).sum() >= _SHORT:
            places = np.flatnonzero(likely <= _SURE)
            genomes, points, passes = genomes.at(places), points[places], passes[places]
        outlined = [model.outline(points) for model in self._models]
        mean, deviation = (np.stack(one, axis=1) for one in zip(*outlined, strict=True))
        gains = self._gains(genomes, mean, deviation, draws, outlined_improvement)
        each = max(_SHORT // len(gains), 1)
        best = [_first(own + passes, each) for own in gains.values()]
        short = np.unique(np.concatenate(best))
        picked = self._picked(genomes.at(short), passes[short], draws)
        return np.asarray(places[short[picked]])

    def _picked(self, genomes: Genomes, passes: Floats, draws: Sequence[Weights]) -> list[int]:
        """``chosen`` of a shortlist, one after the other."""
        unsure = Unsure(self._models, self._features.of(genomes))
        left, picked = np.zeros(len(genomes)), list[int]()
        for weights in draws[: len(genomes)]:
            gains = self._gains(genomes, unsure.means, unsure.deviations(), [weights])
            at = int(np.argmax(next(iter(gains.values())) + passes + left))
            left[at] = -np.inf
            unsure.tell(at)
            picked.append(at)
        return picked

    def _gains(
        self,
        genomes: Genomes,
        mean: Floats,
        deviation: Floats,
        draws: Sequence[Weights],
        improvement: Improvement = log_improvement,
    ) -> dict[bytes, Floats]:
        """Logarithms of the expected improvements, (N,), for each of *draws* that differs."""
        middle = self._aims.values(genomes, mean)
        promise = (middle - self._low) / self._span
        doubt = np.abs(self._aims.values(genomes, mean + deviation) - middle) / self._span
        known, gains = (self._front - self._low) / self._span, {}
        for weights in draws:
            if weights.tobytes() in gains:
                continue
            value = scalarised(promise.T, weights)
            first = (promise * weights).argmax(axis=1)
            spread = (doubt * weights)[np.arange(len(doubt)), first]
            least = float(scalarised(known.T, weights).min())
            own = improvement(least, value, np.maximum(spread, _CERTAIN))
            gains[weights.tobytes()] = own
        return gains

    def proven(self, genomes: Genomes) -> Floats | None:
        """``hopes`` by the bounds alone; None: there are none."""
        if not self._models or not len(genomes):
            return None
        expected = self._expected(genomes, all_closely=False)
        if not expected.size:
            return None
        return self._promises(genomes, np.zeros(1), expected)

    def _promises(self, genomes: Genomes, hoped: Floats, expected: Floats) -> Floats:
        """(N, M) promises of targets that are *hoped* for beside what is *expected*."""
        if not expected.size:
            return np.asarray((self._aims.values(genomes, hoped) - self._low) / self._span)
        left_out: Flags = np.asarray(np.isinf(expected).any(axis=1))
        targets = hoped + np.where(left_out[:, None], 0.0, expected)
        promises = (self._aims.values(genomes, targets) - self._low) / self._span
        promises[left_out] = np.inf
        return np.asarray(promises)

    def _expected(self, genomes: Genomes, *, all_closely: bool) -> Floats:
        """(N, K) targets expected of designs before anything is learned: the least they can be.

        Models have to learn by what part designs exceed it, which differs little between designs
        that have next to nothing in common. They may guess less: how unsure they are of what is
        unlike all they know counts for more than what is proven.

        Args:
            genomes: The designs.
            all_closely: Ask the closest bound of each, not only where the looser one leaves room
                beside the front: it is dear.

        Returns:
            (N, K); (1, 0) where no bound is known. Infinite where there is no room to ask: such a
            design is left out of the lesson.
        """
        nothing = np.zeros((1, 0))
        if self._hopes is None or not self._is_bounded:
            return nothing
        least = self._hopes.of(genomes, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(least)
            beaten: Flags = np.asarray((self._front[None] <= logs[:, None]).all(axis=2))
            near: Flags = np.asarray(~beaten.any(axis=1))
            near = near | np.full(len(near), all_closely)
            asked: Flags = near & self._with_room(genomes, near, logs, is_free=all_closely)
            if asked.any():
                logs[asked] = np.log(self._hopes.closest(genomes.at(asked)))
        is_known = np.isfinite(logs).all(axis=1)
        if not is_known.any():
            return nothing
        logs[~is_known] = np.median(logs[is_known], axis=0)
        expected = self._aims.targets(genomes, logs)
        expected[near & ~asked] = np.inf
        return expected

    def _with_room(self, genomes: Genomes, near: Flags, logs: Floats, *, is_free: bool) -> Flags:
        """True of designs whose closest bound is asked: there is room for the best new plans.

        To know a new plan costs as much as a hundred proposals.

        Args:
            genomes: The designs.
            near: Those that the looser bound leaves room for.
            logs: (N, M) logarithms of that bound.
            is_free: Whether none of them takes any room.
        """
        assert self._hopes is not None
        plans = self._hopes.plans(genomes)
        new = near & ~np.isin(plans, list(self._met))
        if self._room is None or is_free:
            self._met.update(plans[near].tolist())
            return near
        loose = np.where(new, ((logs - self._low) / self._span).max(axis=1), np.inf)
        best = plans[np.argsort(loose, kind="stable")[: int(new.sum())]]
        chosen = list(dict.fromkeys(best.tolist()))[: self._room]
        self._room -= len(chosen)
        self._met.update(chosen)
        return near & np.isin(plans, list(self._met))


def _either(one: Floats | None, other: Floats | None) -> Floats | None:
    """Probability, (N,), of one or the other of two things; None: neither is known."""
    if one is None or other is None:
        return other if one is None else one
    return np.asarray(1.0 - (1.0 - one) * (1.0 - other))


def _first(values: Floats, count: int) -> Ints:
    """Numbers of the *count* largest of *values*."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values >= least)[:count]


def squeezed(targets: Floats) -> Floats:
    """*targets*, (N, K), of which those that are not among the better ones count by a part alone.

    A model of all designs has to tell the good ones apart, not how bad the others are.
    """
    last = min(max(len(targets) // 2, _GOOD), len(targets) - 1)
    middle = np.sort(targets, axis=0)[last]
    return np.asarray(np.minimum(targets, middle + _POOR * (targets - middle)))


def averse(promises: Floats, likely: Floats) -> Floats:
    """*promises*, (N, M), where what is *likely*, (N,), refused for almost certain comes last.

    Short of that nothing counts: the best designs often lie where a limit begins.
    """
    last = np.where(likely > _SURE, _LAST * likely, 0.0)
    return np.asarray(promises + last[:, None])
