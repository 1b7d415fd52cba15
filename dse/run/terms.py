"""Terms of a search: its budget, its surroundings, and where designs are evaluated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from marshal import dumps
from typing import Any, Protocol, Self

from dse.evaluate import Answer, Task
from dse.evaluate.base import Evaluation
from dse.objectives import total_violation
from dse.samplers.base import Outcome, Proposal, most_open
from dse.space import Design
from dse.store.packed import ManyRows
from dse.study.stretch import Stretch
from dse.study.trials import Trial

WAIT_S = 0.25
"""Time for which outcomes are awaited before it is seen what else there is to do."""


Key = int
"""Number above 0 of a design, from its digest."""

_FORM = 2
"""Form of ``marshal``: types and values, equal in all processes."""

_DIGEST_BYTES = 8
"""Size of the digest of a design: of 10 million two are taken for one once in 400,000 studies."""


def key_of(design: Design) -> Key:
    """Key of a design that stands for all with the same outcome, in whatever process."""
    told = dumps((*design, *design.values()), _FORM)  # names in one order, as in the space
    digest = blake2b(told, digest_size=_DIGEST_BYTES).digest()
    return max(int.from_bytes(digest, "big") >> 1, 1)


@dataclass(slots=True, kw_only=True, eq=False)
class Slot:
    """A row of a study under way.

    Attributes:
        number: Of the row.
        key: Shared by equal designs.
        proposal: What was asked for.
        trial: What became of it; None: it is not known yet.
    """

    number: int
    key: Key
    proposal: Proposal[Any]
    trial: Trial | None = None

    @classmethod
    def of(cls, design: Design, key: Key) -> Self:
        """One that no sampler has asked for, without a number yet."""
        return cls(number=-1, key=key, proposal=Proposal(design=design, handle=None))

    @property
    def genome_key(self) -> int:
        """Number above 0 by which the sampler knows the design; 0: none."""
        genome = self.proposal.genome
        return 0 if genome is None else genome.key


def outcome_of(evaluation: Evaluation) -> Outcome:
    """Outcome for the sampler: empty for a failed evaluation."""
    if evaluation.state == "failed":
        return Outcome(objectives={}, violation=0.0)
    limits = evaluation.constraints
    violation = total_violation(limits) if limits else 0.0
    return Outcome(objectives=evaluation.objectives, violation=violation)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Designs that earlier studies teach, and what is wanted of them.

    Attributes:
        designs: The most promising first.
        signs: +1 for each minimised objective, by name, -1 for each that is maximised.
    """

    designs: Sequence[Design] = ()
    signs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Budget after which a search ends.

    Attributes:
        trials: Proposals of the sampler, all in all.
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
        lessons: Designs that are evaluated on top of the trials, before any of them.
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
    lessons: Lessons = field(default_factory=Lessons)

    @property
    def rows(self) -> int:
        """Rows of the study: its trials and the lessons on top."""
        return self.trials + len(self.lessons.designs)

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
            none of their numbers.
        dropped: Called with the numbers of stored trials that are no rows.
        all_folded: Called for many trials at once, in place of *folded*, in ask order.
        provenance: Of what is evaluated.
    """

    finished: Callable[[Trial], None]
    folded: Callable[[Trial, int], None]
    stopping: Callable[[], bool]
    pausing: Callable[[], bool] = lambda: False
    ending: Callable[[int], None] = lambda first: None
    keyed: Callable[[int, int], None] = lambda key, genome: None
    filed: Callable[[ManyRows], None] = lambda rows: None
    dropped: Callable[[Sequence[int]], None] = lambda numbers: None
    all_folded: Callable[[Stretch], None] = lambda rows: None
    provenance: int = 0


class Evaluations(Protocol):
    """Evaluations of designs, wherever they run."""

    def submit(self, tasks: Iterable[Task]) -> None:
        """Queue designs."""

    def finished(self, timeout_s: float) -> list[Answer]:
        """Answers that have come in; waits at most about *timeout_s*, and may return none."""
