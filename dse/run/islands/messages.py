"""Messages between the driver of a study and its islands, and the numbers of their trials.

A round is one turn of all islands. Its trials are numbered place by place, and island by island at
each place: so the first trials of a study are the same ones however many there will be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dse.evaluate.workers.crew import Shared
from dse.store.rows import Row
from dse.study.trials import Trial


@dataclass(frozen=True, slots=True)
class Rounds:
    """Numbers of the trials of all rounds.

    Attributes:
        islands: Number of islands.
        length: Trials of each island in a round.
    """

    islands: int
    length: int

    @property
    def size(self) -> int:
        """Trials of a round."""
        return self.islands * self.length

    def number(self, island: int, own: int) -> int:
        """Number in the study of the trial that is *own* of an island, both from 0."""
        turn, place = divmod(own, self.length)
        return turn * self.size + place * self.islands + island

    def share(self, island: int, turn: int, limit: int) -> int:
        """Trials of an island in round *turn* of a study of *limit* trials."""
        left = limit - turn * self.size - island
        return min(max(-(-left // self.islands), 0), self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Findings of one round.

    Attributes:
        trials: Feasible designs, with objectives and limits alone.
        digests: Of all its designs, one after the other.
    """

    trials: Sequence[Trial]
    digests: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Request to an island to go on with a round.

    Attributes:
        island: Number of the island.
        turn: The round.
        share: Its trials, those that are reported already included.
        begins: Whether it has nothing done yet: what the worker holds of it is out of date.
        news: Of the round that it hears of before it begins this one; None: there is none.
        stored: Outcomes that are known already, by place in the round.
        provenance: Of what is evaluated.
        is_guarded: Whether designs are evaluated in a process of its own, since one may have ended
            the worker.
    """

    island: int
    turn: int
    share: int
    begins: bool = False
    news: Shared | None = None
    stored: Mapping[int, Trial] = field(default_factory=dict)
    provenance: int = 0
    is_guarded: bool = False

    @property
    def is_replay(self) -> bool:
        """True if all that it will find is known."""
        return len(self.stored) == self.share


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Trials that an island has made.

    Attributes:
        trials: The trials; None where the outcome was known.
        rows: Their rows of the store, so that the driver need not make them.
        digests: Of their designs, one after the other.
    """

    trials: Sequence[Trial | None]
    rows: Sequence[Row]
    digests: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Trials of an island, from one place of a round on.

    Attributes:
        island: Number of the island.
        turn: The round.
        first: The place.
        count: Number of the trials.
        made: The trials, packed: islands get their next orders before they are looked at.
        is_exhausted: Whether no design is left to propose.
        error: Reason why the island cannot go on; empty: it can.
        is_out_of_memory: Whether the memory of the worker did not suffice.
    """

    island: int
    turn: int
    first: int = 0
    count: int = 0
    made: Shared | None = None
    is_exhausted: bool = False
    error: str = ""
    is_out_of_memory: bool = False
