"""A steady-state evolutionary search whose children are ranked by a model before they are tried.

Every design it asks for is valid, passes the screen, and is new. What is asked as number i depends
on the seed, on i and on the results told before, on nothing else.

Source: the ranking by a Gaussian process under random weights follows J. Knowles, "ParEGO: a hybrid
algorithm with on-line landscape approximation for expensive multiobjective optimization problems",
IEEE Transactions on Evolutionary Computation 10(1), 2006.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from dse.samplers.design.credit import Credit
from dse.samplers.design.elite import Elite
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.judge import Judge
from dse.samplers.design.moves import cross, moves_for
from dse.samplers.design.neighbourhood import Neighbourhood, pick
from dse.samplers.design.screen import Screen, Unscreened

_DRAWS = 20_000
"""Uniform draws after which no new design is expected any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Of the search; the defaults serve every problem.

    Attributes:
        initial: Designs drawn uniformly before the search begins.
        parents: The best designs, any of which may be a parent.
        children: Children that the model ranks for each design asked.
        fresh: Share of designs that are drawn uniformly all the same.
        local: Share of designs that are one move away from a design of the front, whatever the
            model says of them.
        crossover: Share of children with two parents.
        repairs: Further moves that may bring a child back that the screen turned down.
        memory: Designs that the model learns from.
        relearn: Results after which it learns anew.
    """

    initial: int = 24
    parents: int = 20
    children: int = 24
    fresh: float = 0.05
    local: float = 0.15
    crossover: float = 0.5
    repairs: int = 3
    memory: int = 320
    relearn: int = 12


Children = dict[Genome, tuple[int, ...]]
"""Designs, each with the numbers of the moves that made it."""


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
        self._admits = (screen or Unscreened()).admits
        self._elite = Elite(self._settings.memory)
        self._judge = Judge(space, seed)
        moves = moves_for(self._near)
        self._moves = [move for move, _ in moves]
        self._credit = Credit([share for _, share in moves])
        self._made_by: Children = {}
        self._known: set[Genome] = set()
        self._queue: deque[Genome] = deque()
        self._asked = self._told = self._learned_at = 0

    def enqueue(self, genome: Genome) -> None:
        """Ask for *genome* before anything else."""
        self._queue.append(genome)

    def ask(self) -> Genome | None:
        """A new design, or None if none was found."""
        random = Random(self._seed << 40 | self._asked)
        self._asked += 1
        if self._queue:
            self._known.add(self._queue[0])
            return self._queue.popleft()
        settings = self._settings
        genome = None
        if len(self._elite) >= settings.initial and random.random() >= settings.fresh:
            genome = self._bred(random)
        if genome is None:
            genome = self._drawn(random)
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
        is_progress = values is not None and violation <= 0 and self._elite.is_progress(values)
        self._credit.learn(moves, is_progress=is_progress)
        if values is not None:
            self._elite.add(genome, values, violation)
        if self._told - self._learned_at >= self._settings.relearn and len(self._elite):
            self._learned_at = self._told
            self._elite.sort()
            if self._elite.feasible >= 8:
                self._judge.learn(self._elite, self._told)

    def _is_new(self, genome: Genome) -> bool:
        return genome not in self._known and self._admits(genome)

    def _drawn(self, random: Random) -> Genome | None:
        for _ in range(_DRAWS):
            genome = self._space.draw(random)
            if self._is_new(genome):
                return genome
        return None

    def _bred(self, random: Random) -> Genome | None:
        """The best of some children, as far as the model can tell."""
        settings = self._settings
        parents = self._elite.best(settings.parents)
        if not parents:
            return None
        is_ranked = self._judge.is_ready and random.random() >= settings.local
        if is_ranked:
            children = self._children(parents, settings.children, random)
        else:
            children = self._children(self._elite.front() or parents, 1, random)
        if not children:
            return None
        chosen = next(iter(children))
        if is_ranked:
            chosen = self._judge.best(list(children), self._judge.draw_weights(random))
        self._made_by[chosen] = children[chosen]
        return chosen

    def _children(self, parents: list[Genome], wanted: int, random: Random) -> Children:
        """New designs near *parents*: if one is wanted, a move away from one of them."""
        found: Children = {}
        for _ in range(4 * wanted + 20):  # few are new where much is known
            if len(found) >= wanted:
                break
            made_by: list[int] = []
            luck = random.random()
            if wanted == 1:
                child, moves = pick(parents, random), 1
            else:
                child, moves = self._offspring(parents, random), 1 + (luck < 0.5) + (luck < 0.25)
            for _ in range(moves):
                child = self._moved(child, made_by, random)
            for _ in range(self._settings.repairs):
                if self._admits(child):
                    break
                child = self._moved(child, made_by, random)
            if child not in found and self._is_new(child):
                found[child] = tuple(made_by)
        return found

    def _offspring(self, parents: list[Genome], random: Random) -> Genome:
        child = pick(parents, random)
        if random.random() < self._settings.crossover:
            child = cross(self._near, pick(parents, random), child, random)
        return child

    def _moved(self, genome: Genome, made_by: list[int], random: Random) -> Genome:
        at = self._credit.draw(random)
        moved = self._moves[at](self._near, genome, random)
        if moved is None:
            return genome
        made_by.append(at)
        return moved
