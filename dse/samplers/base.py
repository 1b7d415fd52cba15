"""Interface of all that proposes the designs of a study."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dse.objectives import Goals
from dse.space import Check, Design, Space
from dse.space.encoding import Style

if TYPE_CHECKING:
    from dse.samplers.design import Genome, Hopes
    from dse.samplers.design.columns.genomes import Keys
    from dse.samplers.storage import TrialStorage

Handle = TypeVar("Handle")


_OPEN_PART = 10
"""A proposer that learns in lessons has a tenth of the results under way, once that is many."""


def most_open(window: int, told: int, *, in_lessons: bool) -> int:
    """Designs that may be under way after *told* results.

    Args:
        window: Of the study: so many at least.
        told: Results so far.
        in_lessons: As of ``Proposer``.
    """
    return max(window, told // _OPEN_PART) if in_lessons else window


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal(Generic[Handle]):
    """One design that a sampler asked for.

    Attributes:
        design: Its values.
        handle: What the proposer needs to know it again.
        genome: The design in the columns of ``samplers.design``, where the proposer knows it.
    """

    design: Design
    handle: Handle = field(repr=False)
    genome: "Genome | None" = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """Result of a design that was asked for.

    Attributes:
        objectives: Values by name; empty if it was not evaluated.
        violation: Sum of what exceeds; of a feasible design, 0 or less: how close it comes.
    """

    objectives: Mapping[str, float]
    violation: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prices:
    """Exact facts about designs whose objectives are ``amount * time ** power``.

    Attributes:
        powers: Per objective, the power of the iteration time in it; one of them at least is not 0.
        amounts: Per objective its amount in a design with an iteration of one second, above 0;
            None where the design cannot be built.
        deciding: Names of the knobs that the amounts depend on.
    """

    powers: tuple[int, ...]
    amounts: Callable[[Design], tuple[float, ...] | None]
    deciding: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """View of the space for a sampler of Optuna.

    Attributes:
        style: How it sees blocks of knobs.
        keeps_words: Whether it can handle unordered choices; otherwise they become steps.
        knows_limits: Whether it makes use of constraints; otherwise infeasible designs are told
            to it as the worst seen so far.
    """

    style: Style
    keeps_words: bool = True
    knows_limits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Twins:
    """Designs that provably have the same outcome.

    Attributes:
        canonical: The one that stands for all twins of a design.
        deciding: Names of the knobs that this looks at, and of those that it changes.
    """

    canonical: Callable[[Design], Design]
    deciding: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProposerInput:
    """Input of a proposer.

    Attributes:
        space: The designs.
        goals: What is wanted of them.
        seed: The same seed and the same answers give the same proposals.
        population: Size of a generation, or designs drawn before the sampler starts to learn;
            None: the sampler's own default.
        checks: Rules that are known before a design is evaluated.
        prices: What is exact about the designs; None: nothing is.
        is_hopeful: Whether a design may be of use for all that is known from the trials so far:
            asked of each design right before it is proposed. None: all are.
        hopes: The same about many designs at once. None: nothing is known.
        twins: The designs with the same outcome as others; None: not known.
        trials: Proposals that will be asked for; None: not known.
        arguments: What else the sampler's class is called with.
        look: How a sampler of Optuna sees the space; None: as suits it.
        storage: Of the trials of the Optuna study that is asked; None: a new one in memory.
        window: Designs that may be under way, at least (``most_open``); None: as many at any time.
        searches: Searches of the study, of which this is one.
    """

    space: Space
    goals: Goals
    seed: int
    population: int | None = None
    checks: Sequence[Check] = ()
    prices: Prices | None = None
    is_hopeful: Callable[[Design], bool] | None = None
    hopes: "Hopes | None" = None
    twins: Twins | None = None
    trials: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    look: Look | None = None
    storage: "TrialStorage | None" = None
    window: int | None = None
    searches: int = 1

    def admits(self, design: Design) -> bool:
        """True if *design* breaks none of the checks."""
        return all(check.holds(design) for check in self.checks)


class Proposer(ABC, Generic[Handle]):
    """Asked for designs, and told what became of them in the order in which it was asked.

    ``search.sampler`` of a study names a class. One object is made of a ``ProposerInput`` in the
    process of the search, and one for each of its islands, where there are several, in a worker.
    The same input and the same answers give the same
    proposals, whatever the number of workers; what is open and not told yet is bounded by the
    study's window (``most_open``).

    Attributes:
        is_complete: Whether it has proposed every design of the space once it has none left.
        trims: Whether it knows what the designs of the front may do without (``trim``).
        asks_study: Whether each proposal is a trial of an Optuna study already.
        in_lessons: Whether it learns from many results at once, ever more of them: then more may
            be under way (``most_open``).
    """

    is_complete = False
    trims = False
    asks_study = False
    in_lessons = False

    @abstractmethod
    def ask(self) -> Proposal[Handle] | None:
        """The next design, always valid; None if there is none left to propose."""

    def trim(self, is_new: Callable[[Design], bool]) -> Proposal[Handle] | None:
        """A new design that leaves out a part of one of the front; None: all have been tried."""
        return None

    def free_step(self, is_new: Callable[[Design], bool]) -> Proposal[Handle] | None:
        """A new design near the front that costs no more than one of it; None: all are known."""
        return None

    def recall(
        self, designs: Sequence[Design], outcomes: Sequence[Outcome]
    ) -> list[Proposal[Handle]] | None:
        """Be as if all of *designs* had been asked for, and the first of them had been told.

        As many had been open before each was told as are open now, or as ``most_open`` says.

        Args:
            designs: What a proposer like this one, told the same before, did ask for.
            outcomes: What became of the first of them.

        Returns:
            A proposal for each design that is still open, or None if that is not possible: then
            all that was asked must be asked again, and told again.
        """
        return None

    def hear(self, designs: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
        """Learn from feasible *designs* that others have found; by default nothing is learned."""

    def know(self, keys: "Keys") -> None:
        """Propose none of the designs with these *keys* (``Proposal.genome``): others have."""

    @abstractmethod
    def enqueue(self, design: Design) -> None:
        """Propose *design*, which is in the space, before anything else."""

    @abstractmethod
    def vary(
        self, proposal: Proposal[Handle], is_new: Callable[[Design], bool]
    ) -> Proposal[Handle] | None:
        """A new design in place of one that is known already.

        Args:
            proposal: Of a known design; taken back if a new one is found.
            is_new: Whether a design has not been proposed yet.

        Returns:
            The new proposal, or None if no new design is found.
        """

    def propose(self, design: Design, instead: Proposal[Handle] | None = None) -> Proposal[Handle]:
        """A proposal of a design that somebody else wants, which asks a study (``asks_study``).

        Args:
            design: In the space.
            instead: The proposal made last, whose place it takes.
        """
        raise NotImplementedError

    def withdraw(self, proposal: Proposal[Handle]) -> None:
        """The proposal made last is dropped: its design is known, and no new one is left."""
        return

    @abstractmethod
    def tell(
        self, proposal: Proposal[Handle], objectives: Mapping[str, float], violation: float
    ) -> None:
        """The outcome of a design.

        Args:
            proposal: What was asked.
            objectives: Values by name; empty if the design is infeasible and was not evaluated.
            violation: Sum of what exceeds; of a feasible design, 0 or less: how close it comes.
        """

    @abstractmethod
    def tell_nothing(self, proposal: Proposal[Handle]) -> None:
        """The evaluation failed, which says nothing about the design."""
