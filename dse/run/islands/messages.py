"""Messages between the driver of a study and its islands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dse.evaluate.workers.crew import Shared
from dse.proof.prove import Reached
from dse.proof.screening import Facts
from dse.samplers.design.columns.genomes import Keys
from dse.space import Design
from dse.store.packed import ManyRows
from dse.study.kept import KeptTrials
from dse.study.stretch import Outcomes
from dse.study.trials import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Findings of one round.

    Attributes:
        turn: The round.
        trials: Feasible designs, with objectives and limits alone.
        known: (N, 2) of all its designs, as ``Hooks.keyed``.
        failed: Designs whose evaluation failed.
    """

    turn: int
    trials: Sequence[Trial]
    known: Keys
    failed: Sequence[Design] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Request to an island to go on with a round.

    Attributes:
        island: Number of the island.
        turn: The round.
        share: Its trials, those that are reported already included.
        shares: Trials of each island in the round.
        begins: Whether it has nothing done yet: what the worker holds of it is out of date.
        news: Of the round that it hears of before it begins this one; None: there is none.
        stored: Outcomes that are known already, by place in the round.
        facts: Facts of plans that others have worked out.
        wants_facts: Whether the report is to tell those that the island works out.
        provenance: Of what is evaluated.
        is_guarded: Whether designs are evaluated in a process of its own, since one may have ended
            the worker.
    """

    island: int
    turn: int
    share: int
    shares: Sequence[int]
    begins: bool = False
    news: Shared | None = None
    stored: Mapping[int, Trial] = field(default_factory=dict)
    facts: Sequence[Shared] = ()
    wants_facts: bool = False
    provenance: int = 0
    is_guarded: bool = False

    @property
    def is_replay(self) -> bool:
        """True if all that it will find is known."""
        return len(self.stored) == self.share


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Trials that an island has made, so packed that the driver need not look at any one.

    Attributes:
        trials: The trials, under any numbers.
        outcomes: (N,) their outcomes, as columns.
        rows: Rows of the store of those whose outcome was not known.
    """

    trials: KeptTrials
    outcomes: Outcomes
    rows: ManyRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Trials of an island, from one place of a round on.

    Attributes:
        island: Number of the island.
        turn: The round.
        first: The place.
        count: Number of the trials.
        new: Number of those whose outcome was not known.
        made: The trials, packed: islands get their next orders before they are looked at.
        facts: Facts of plans that its worker has worked out since the last report.
        reached: What the island has proven of its part, at the end of a round; None: it proves
            nothing, or the round goes on.
        is_exhausted: Whether no design is left to propose.
        error: Reason why the island cannot go on; empty: it can.
        is_out_of_memory: Whether the memory of the worker did not suffice.
    """

    island: int
    turn: int
    first: int = 0
    count: int = 0
    new: int = 0
    made: Shared | None = None
    facts: Facts = field(default_factory=dict)
    reached: Reached | None = None
    is_exhausted: bool = False
    error: str = ""
    is_out_of_memory: bool = False
