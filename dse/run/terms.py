"""Terms of a search: its budget, its surroundings, and where designs are evaluated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dse.evaluate import Answer, Task
from dse.samplers.base import most_open
from dse.study.kept import Named
from dse.study.stretch import Stretch
from dse.study.trials import Trial

WAIT_S = 0.25
"""Time for which outcomes are awaited before it is seen what else there is to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Budget after which a search ends.

    Attributes:
        trials: Proposals, all in all.
        window: Proposal i knows the results of proposals 0 to i - window, and no others.
        in_lessons: Later proposals know fewer of the latest results (``samplers.base.most_open``).
        proposed: Proposals that are made once so many have results, in place of what *window* says:
            those of a round are made at once, and know nothing of their own.
        repeats: Whether a known design counts as a proposal; if not, a new one takes its place.
        designs: Number of designs in the space, or None if it is infinite.
        until_s: Value of ``time.monotonic()`` after which nothing more is proposed, or None.
        starts: Designs that are proposed first, whatever is known.
        signs: Those of the objectives, by name, where the search ends once it does not improve
            any more, *trials* at the latest; empty: it ends after *trials*.
    """

    trials: int
    window: int
    repeats: bool = False
    designs: int | None = None
    until_s: float | None = None
    starts: int = 0
    signs: Mapping[str, int] = field(default_factory=dict)
    proposed: Callable[[int], int] | None = None
    in_lessons: bool = False

    def may_open(self, asked: int, told: int) -> bool:
        """True if one more may be proposed after *asked* ones, of which *told* have results."""
        if self.proposed is not None:
            return asked < self.proposed(told)
        return asked - told < most_open(self.window, told, in_lessons=self.in_lessons)

    def told_before(self, asked: int) -> int:
        """Results that are known when the last of *asked* proposals is made."""
        told = max(asked - self.window, 0)
        while told > 0 and self.may_open(asked - 1, told - 1):
            told -= 1
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Calls from a search to its surroundings.

    Attributes:
        finished: Called for each new evaluation, as it comes in.
        folded: Called for each trial, in ask order, with the duplicates so far.
        stopping: Whether to propose nothing more; what is under way is awaited.
        pausing: Whether to leave the search as it is before the next outcome is awaited.
        ending: Called with the number of the first proposal of the end, when that begins.
        keyed: Called for each trial, before *folded*, with the number above 0 that equal designs
            share, and that by which the sampler knows the design (``Proposal.genome``); 0: none.
        filed: Called for new evaluations of an island, with their rows of the store, which holds
            none of their numbers, and the names of their constraints and metrics.
        all_folded: Called for many trials at once, in place of *folded*, in ask order.
        provenance: Of what is evaluated.
    """

    finished: Callable[[Trial], None]
    folded: Callable[[Trial, int], None]
    stopping: Callable[[], bool]
    pausing: Callable[[], bool] = lambda: False
    ending: Callable[[int], None] = lambda first: None
    keyed: Callable[[int, int], None] = lambda key, genome: None
    filed: Callable[[Sequence[tuple[Any, ...]], Named], None] = lambda rows, named: None
    all_folded: Callable[[Stretch], None] = lambda rows: None
    provenance: int = 0


class Evaluations(Protocol):
    """Evaluations of designs, wherever they run."""

    def submit(self, tasks: Iterable[Task]) -> None:
        """Queue designs."""

    def finished(self, timeout_s: float) -> list[Answer]:
        """Answers that have come in; waits at most about *timeout_s*, and may return none."""
