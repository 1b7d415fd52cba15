"""Messages between the driver of a study and its islands, and the numbers of their trials.

A round is one turn of all islands. Its trials are numbered place by place, and island by island at
each place: so the first trials of a study are the same ones however many there will be.
"""

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dse.evaluate.workers.crew import Shared
from dse.proof.screening import Facts
from dse.samplers.design.columns.genomes import Keys
from dse.store.rows import Row
from dse.study.trials import Trial

AT_ONCE = 16
"""Designs that an island proposes at once: a lesson of `design`, which learns nothing between."""

_GROWN, _PART, _LONGEST = 320, 10, 1024
"""Trials of an island from which on its rounds grow: to so small a part of them, and so long at
most. A message and a wait for others then cost less, and more designs are evaluated at once."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Numbers of the trials of all rounds.

    Attributes:
        islands: Number of islands.
        length: Trials of each island in a round, the first ones at least.
        grows: Whether later rounds are longer: for searches that learn from ever more results at
            once (``Proposer.in_lessons``), which know all but a tenth of them then.
    """

    islands: int
    length: int
    grows: bool = False
    _begins: list[int] = field(default_factory=lambda: [0], init=False, repr=False, compare=False)
    """First trials of the rounds of an island, as many as were asked for."""

    def begin(self, turn: int) -> int:
        """Trials that an island has made before round *turn*."""
        while len(self._begins) <= turn:
            self._add_round()
        return self._begins[turn]

    def size(self, turn: int) -> int:
        """Trials of round *turn*, of all islands."""
        return (self.begin(turn + 1) - self.begin(turn)) * self.islands

    def turn(self, own: int) -> int:
        """Round of the trial that is *own* of an island."""
        while self._begins[-1] <= own:
            self._add_round()
        return bisect_right(self._begins, own) - 1

    def number(self, island: int, own: int) -> int:
        """Number in the study of the trial that is *own* of an island, both from 0."""
        return own * self.islands + island

    def share(self, island: int, turn: int, limit: int) -> int:
        """Trials of an island in round *turn* of a study of *limit* trials."""
        first, end = self.begin(turn), self.begin(turn + 1)
        left = limit - first * self.islands - island
        return min(max(-(-left // self.islands), 0), end - first)

    def proposed(self, told: int) -> int:
        """Trials that an island has proposed once it knows the outcomes of *told* ones."""
        turn = self.turn(told)
        first, end = self.begin(turn), self.begin(turn + 1)
        if end - first > self.length:
            return end
        return min(first + ((told - first) // AT_ONCE + 1) * AT_ONCE, end)

    def _add_round(self) -> None:
        own = self._begins[-1]
        grown = min(own // _PART, _LONGEST) if self.grows and own >= _GROWN else 0
        self._begins.append(own + max(self.length, grown))


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Findings of one round.

    Attributes:
        trials: Feasible designs, with objectives and limits alone.
        known: (N, 2) of all its designs, as ``Hooks.keyed``.
    """

    trials: Sequence[Trial]
    known: Keys


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
        facts: Facts of plans that others have worked out.
        wants_facts: Whether the report is to tell those that the island works out.
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
    """Trials that an island has made.

    Attributes:
        trials: The trials; None where the outcome was known.
        rows: Their rows of the store, so that the driver need not make them.
        known: Two numbers for each of their designs, as ``Hooks.keyed``.
    """

    trials: Sequence[Trial | None]
    rows: Sequence[Row]
    known: "array[int]"


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
    is_exhausted: bool = False
    error: str = ""
    is_out_of_memory: bool = False
