"""Settings of the design search, with defaults that serve every problem."""

from dataclasses import dataclass, replace
from math import log2


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the search; the defaults serve every problem.

    Attributes:
        initial: Designs drawn uniformly before the search begins.
        parents: The best designs of each objective, in all, that may be parents beside the front.
        children: Children bred for each design that a lesson will be asked for; beside them, all
            that are one decision away from a design of the front.
        generations: Times that children are bred for a lesson: first those of the best, then those
            of the most promising that were bred before.
        fresh: Share of designs that are drawn uniformly all the same; less where much is known, see
            ``drawn``.
        untried: Share of designs of whose largest block, the plan, nobody has tried the row yet,
            chosen by what is proven of them; none where nothing is.
        local: Share of designs that are one move away from a design of the front, whatever the
            model says of them.
        crossover: Share of children with two parents.
        repairs: Further moves that may bring a child back that the screen turned down.
        memory: Designs that the model learns from.
        lesson: Results after which the model learns anew, and children are bred anew; more of them
            once much is known, see ``next_lesson``.
        course: Lessons after which the model begins again without what it knew before.
        searches: Searches of the study, of which this is one and knows a part of all results.
    """

    initial: int = 24
    parents: int = 20
    children: int = 10
    generations: int = 3
    fresh: float = 0.05
    untried: float = 0.1
    local: float = 0.15
    crossover: float = 0.5
    repairs: int = 3
    memory: int = 320
    lesson: int = 16
    course: int = 8
    searches: int = 1

    def for_small(self) -> "Settings":
        """Settings for a space that is looked at as a whole: each result is of more use there."""
        return replace(self, lesson=min(self.lesson, _SHORT_LESSON))

    def next_lesson(self, told: int) -> int:
        """Number of results at which the lesson after that at *told* results begins.

        What a result teaches falls with the number of those before, and so does what it may cost.
        Of several searches each has half as many lessons as one that knew all their results.
        """
        known, sharing = self._known(told), max(self.searches // 2, 1)
        parts = min(known // _PARTS, _LONGEST) // sharing if known >= _MANY else 1
        return told + self.lesson * max(parts, 1)

    def pause(self, told: int) -> int:
        """Lessons from one look at the whole of a small space to the next."""
        return max(told // (_PAUSE * (self.next_lesson(told) - told)), 1)

    def _known(self, told: int) -> int:
        """Results of the study when this search has *told* ones: others are about as far."""
        return told * self.searches

    def drawn(self, told: int) -> float:
        """Share of uniform draws after *told* results: they find ever less that is new and good."""
        return self.fresh * min(1.0, _MANY / max(self._known(told), 1))

    def sought(self, told: int) -> float:
        """Share of untried plans after *told* results: to know one takes long."""
        return self.untried * min(1.0, _MANY / max(self._known(told), 1))

    def new_plans(self, told: int, results: int) -> int | None:
        """Plans of which the closest bound may be asked for the first time, twice per lesson.

        Args:
            told: Results so far.
            results: Those that the lesson is for.

        Returns:
            None: any number, while little is known.
        """
        known, then = self._known(told), self._known(told + results)
        return None if known < _MANY else _plans_met(then) - _plans_met(known)

    def litter(self, results: int) -> "Litter | None":
        """Size of what is bred for a lesson of so many results; None: nothing is."""
        if not self.children:
            return None
        return Litter(
            children=max(self.children * self.lesson, results),
            others=max(0, results // 4 - self.parents),
            swept=-(-results // 64),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Litter:
    """Size of what is bred for one lesson.

    Attributes:
        children: Designs a few moves away from the best, at most.
        others: Of the best designs, that may be parents besides: among few, all is soon known.
        swept: Designs of the front of which all neighbours are judged too.
    """

    children: int
    others: int
    swept: int


_MANY, _PARTS, _LONGEST = 1000, 128, 64
"""Results from which on uniform draws and new plans get fewer, and lessons longer: one first lesson
for so many results, so many times at most.
"""

_SHORT_LESSON = 8
"""Results of a lesson in a small space."""

_PAUSE = 32
"""The whole of a small space is looked at again once results are more by one in so many."""

_NEW_PLANS = 8
"""New plans each time that results have doubled: to know the bound of one takes 10 to 20 ms."""


def _plans_met(told: int) -> int:
    """New plans from ``_MANY`` results on up to *told* ones."""
    return int(_NEW_PLANS * log2(told / _MANY))


LOCAL = Settings(initial=1, children=0, fresh=0.0, untried=0.0, local=1.0, lesson=4)
"""One move away from a design of the front, always: a descent from designs that are good already.

Source: Pareto local search, L. Paquete, M. Chiarandini, T. Stuetzle, "Pareto local optimum sets in
the biobjective traveling salesman problem", in Metaheuristics for Multiobjective Optimisation,
Springer 2004; here with moves drawn at random.
"""
