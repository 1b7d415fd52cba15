"""Base of the agents of COSMIC's public experiments, and the plainest of them.

An agent sees one list of choices per knob and no rule. What breaks a rule is rejected, counts as a
step and earns nothing; what is proposed again counts as a step too.

Source: COSMIC (arXiv 2505.15020) and the experiment files of ArchGym (S. Krishnan et al., ISCA
2023), which run it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random

Codes = list[int]
"""Choice number of each knob."""


class Agent(ABC):
    """Proposes combinations of choices, and is told a reward each: more is better, 0 rejected."""

    def __init__(self, sizes: Sequence[int], seed: int) -> None:
        """*sizes*: number of choices of each knob."""
        self.sizes, self.random = list(sizes), Random(seed)

    @abstractmethod
    def ask(self) -> Codes:
        """The next combination."""

    @abstractmethod
    def tell(self, codes: Codes, reward: float) -> None:
        """Learn from the last reward."""

    def drawn(self) -> Codes:
        """A combination drawn uniformly."""
        return [self.random.randrange(size) for size in self.sizes]


class RandomWalk(Agent):
    """Draws uniformly."""

    def ask(self) -> Codes:
        return self.drawn()

    def tell(self, codes: Codes, reward: float) -> None:
        """Nothing to learn."""
