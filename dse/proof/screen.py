"""Contract of a screen: answers for designs that need no simulation."""

from collections.abc import Sequence

from dse.evaluate import Evaluation
from dse.space import Design
from dse.study.trials import Trial


class NoScreen:
    """Knows nothing: every design is simulated."""

    def canonical(self, design: Design) -> Design:
        """The design that stands for all that provably have the same outcome."""
        return design

    def verdict(self, design: Design) -> Evaluation | None:
        """The outcome of a design that need not be simulated; None: it must be."""
        return None

    def learn(self, trial: Trial) -> None:
        """Take note of a trial; called in ask order, so that verdicts depend on nothing else."""

    def recall(self, trials: Sequence[Trial]) -> None:
        """Be as if *trials* had been learned, one after the other."""
        for trial in trials:
            self.learn(trial)
