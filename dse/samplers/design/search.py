"""A steady-state evolutionary search whose children are ranked by a model before they are tried.

Every design it asks for is valid, passes the screen, and is new. What is asked as number i depends
on the seed, on i and on the results told before, on nothing else.

Source: the ranking by a Gaussian process under random weights follows J. Knowles, "ParEGO: a hybrid
algorithm with on-line landscape approximation for expensive multiobjective optimization problems",
IEEE Transactions on Evolutionary Computation 10(1), 2006.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.elite import Elite
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.moves import MOVES, Neighbourhood, cross
from dse.samplers.design.surrogate import Features, GaussianProcess

Screen = Callable[[Genome], bool]
"""Whether a design is worth simulating, as far as can be told without simulating it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Of the search; the defaults serve every problem.

    Attributes:
        initial: Designs drawn uniformly before the search begins.
        parents: The best designs, any of which may be a parent.
        children: Children that the model ranks for each design asked.
        fresh: Share of designs that are drawn uniformly all the same.
        unranked: Share of designs that are a child taken as it comes.
        crossover: Share of children with two parents.
        repairs: Further moves that may bring a child back that the screen turned down.
        memory: Designs that the model learns from.
        relearn: Results after which it learns anew.
        optimism: Standard deviations by which the model's guesses are lowered.
    """

    initial: int = 24
    parents: int = 20
    children: int = 24
    fresh: float = 0.05
    unranked: float = 0.1
    crossover: float = 0.5
    repairs: int = 3
    memory: int = 200
    relearn: int = 8
    optimism: float = 1.0


_DRAWS = 20_000
_SHAPE = 0.05
"""Weight of the sum beside the maximum in the scalarised value (augmented Chebyshev)."""


class DesignSearch:
    """Proposes genomes of one space; see the module."""

    def __init__(
        self,
        space: GenomeSpace,
        *,
        seed: int,
        screen: Screen | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._space, self._seed = space, seed
        self._settings = settings or Settings()
        self._near = Neighbourhood(space)
        self._features = Features(space)
        self._screen: Screen = screen or (lambda genome: True)
        self._elite = Elite(self._settings.memory)
        self._moves = [move for move, _ in MOVES.values()]
        self._base = np.array([share for _, share in MOVES.values()])
        self._gain, self._used = np.ones(len(MOVES)), np.ones(len(MOVES))
        self._made_by: dict[Genome, tuple[int, ...]] = {}
        self._known: set[Genome] = set()
        self._asked = self._told = self._learned_at = 0
        self._model: GaussianProcess | None = None
        self._scale: float | None = None

    def know(self, genome: Genome) -> None:
        """*genome* need not be asked again."""
        self._known.add(genome)

    def ask(self) -> Genome | None:
        """A new design, or None if none was found."""
        random = Random(self._seed << 40 | self._asked)
        self._asked += 1
        settings = self._settings
        if len(self._elite) < settings.initial or random.random() < settings.fresh:
            genome = self._drawn(random)
        else:
            genome = self._bred(random) or self._drawn(random)
        if genome is not None:
            self._known.add(genome)
        return genome

    def tell(self, genome: Genome, values: Sequence[float] | None, violation: float) -> None:
        """The outcome of a design.

        Args:
            genome: As asked, or any other one of the space.
            values: Objectives, all to be minimised; None if it was not evaluated.
            violation: Sum of what exceeds the limits; 0 or less is feasible.
        """
        self._told += 1
        self._known.add(genome)
        moves = self._made_by.pop(genome, ())
        if values is None or not np.isfinite(values).all():
            self._credit(moves, gain=0.0)
            return
        self._credit(moves, gain=float(violation <= 0 and self._is_progress(values)))
        self._elite.add(genome, tuple(values), violation)
        if self._told - self._learned_at >= self._settings.relearn or self._model is None:
            self._learned_at = self._told
            self._elite.sort()
            self._learn()

    # -- proposing ---------------------------------------------------------------------------

    def _is_new(self, genome: Genome) -> bool:
        return genome not in self._known and self._screen(genome)

    def _drawn(self, random: Random) -> Genome | None:
        for _ in range(_DRAWS):
            genome = self._space.draw(random)
            if self._is_new(genome):
                return genome
        return None

    def _bred(self, random: Random) -> Genome | None:
        """The best of some children, as far as the model can tell."""
        settings = self._settings
        ranked = self._model is not None and random.random() >= settings.unranked
        children = self._children(random, settings.children if ranked else 1)
        if not children:
            return None
        genomes = list(children)
        chosen = genomes[0]
        if self._model is not None and len(genomes) > 1:
            chosen = genomes[int(np.argmin(self._promise(genomes, random)))]
        self._made_by[chosen] = children[chosen]
        return chosen

    def _children(self, random: Random, wanted: int) -> dict[Genome, tuple[int, ...]]:
        """New designs near the best ones, with the moves that made them."""
        settings, elite = self._settings, self._elite
        parents = [elite.genomes[at] for at in elite.order[: settings.parents].tolist()]
        shares = self._shares()
        found: dict[Genome, tuple[int, ...]] = {}
        for _ in range(20 * wanted + 100):
            if len(found) == wanted:
                break
            child = parents[int(random.random() * len(parents))]
            if random.random() < settings.crossover:
                other = parents[int(random.random() * len(parents))]
                child = cross(self._near, other, child, random)
            luck = random.random()
            made_by: list[int] = []
            for _ in range(1 + (luck < 0.5) + (luck < 0.25)):
                child = self._moved(child, shares, made_by, random)
            for _ in range(settings.repairs):
                if self._screen(child):
                    break
                child = self._moved(child, shares, made_by, random)
            if child not in found and self._is_new(child):
                found[child] = tuple(made_by)
        return found

    def _moved(
        self, genome: Genome, shares: Sequence[float], made_by: list[int], random: Random
    ) -> Genome:
        at = bisect_right(shares, random.random() * shares[-1])
        moved = self._moves[at](self._near, genome, random)
        if moved is None:
            return genome
        made_by.append(at)
        return moved

    def _promise(self, genomes: list[Genome], random: Random) -> NDArray[np.float64]:
        """(N,) float64: what the model hopes of each design under random weights; less is more."""
        assert self._model is not None
        mean, deviation = self._model.guess(self._features.of(genomes))
        hoped = mean - self._settings.optimism * deviation
        weights = np.array([random.expovariate(1.0) for _ in range(hoped.shape[1])])
        weighted = (hoped - self._low) / self._span * weights / weights.sum()
        return np.asarray(weighted.max(axis=1) + _SHAPE * weighted.sum(axis=1))

    # -- learning ----------------------------------------------------------------------------

    def _shares(self) -> list[float]:
        """Running sum of the moves' shares: half fixed, half by what they have brought."""
        rate = self._gain / self._used * self._base
        return list(accumulate((0.3 * self._base + 0.7 * rate / rate.sum()).tolist()))

    def _credit(self, moves: Sequence[int], gain: float) -> None:
        for at in set(moves):
            self._used[at] = 0.98 * self._used[at] + 1.0
            self._gain[at] = 0.98 * self._gain[at] + gain

    def _is_progress(self, values: Sequence[float]) -> bool:
        """Whether no known design is at least as good in everything."""
        return self._elite.beaten_by_none(values)

    def _learn(self) -> None:
        """Fit the model to the best designs; its scale is chosen anew as results double."""
        elite = self._elite
        if elite.feasible < min(self._settings.initial, 8):
            return
        front = elite.front()
        self._low = front.min(axis=0)
        wide = elite.values[elite.order[: max(3, len(front))]]
        self._span = np.maximum(wide.max(axis=0) - self._low, 1e-9)
        best = elite.order[: min(elite.feasible, self._settings.memory)]
        points = self._features.of([elite.genomes[at] for at in best.tolist()])
        self._model = GaussianProcess(points, elite.values[best], self._scales())
        self._scale = self._model.scale

    def _scales(self) -> tuple[float, ...]:
        if self._scale is None or self._told // self._settings.relearn % 8 == 0:
            return (0.5, 1.0, 2.0, 4.0)
        return (self._scale,)
