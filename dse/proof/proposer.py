"""A sampler and a proof that take turns in one study."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.proof.prove import Prover
from dse.samplers.base import Outcome, Proposal, Proposer
from dse.samplers.design.columns.genomes import Keys
from dse.space import Design

_OF_ALL = 64
"""Boxes that a proof looks at in one turn, before the sampler has its own."""

_OF_PART = 16
"""Boxes that a part of a proof looks at: rounds are short then, and few are in vain at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Proposal of the sampler's study, and a note of the turn that it took.

    Attributes:
        own: The proposal as the sampler's study knows it.
        is_wanted: Whether the proof wants it.
    """

    own: Proposal[Any]
    is_wanted: bool


class ProvingProposer(Proposer[Turn]):
    """Asks the sampler and the proof by turns, until the gap is proven, or enough of it.

    The proof hears of every outcome by itself.
    """

    asks_study = True

    def __init__(
        self,
        sampler: Proposer[Any],
        prover: Prover,
        is_enough: Callable[[], bool] | None = None,
        *,
        follows: bool = False,
    ) -> None:
        """Begin.

        Args:
            sampler: Proposes by itself.
            prover: Wants designs.
            is_enough: Asked before each proposal whether what is proven is all that was asked.
                None: others see to that, and the sampler goes on alone once nothing is left.
            follows: Whether it takes up what others have found (``recall``), not what it has
                proposed itself, which it must propose anew for the proof to be the same.
        """
        self._sampler, self._prover, self._is_enough = sampler, prover, is_enough
        self._follows = follows
        self._boxes = _OF_PART if is_enough is None else _OF_ALL
        self._turn = 0
        self._is_sampled_out = False

    def ask(self) -> Proposal[Turn] | None:
        """The next design of whose turn it is; None once the gap is proven."""
        if self._is_enough is not None and (self._prover.is_closed or self._is_enough()):
            return None
        self._turn += 1
        if self._turn % 2:
            wanted = self._wanted()
            if wanted is not None:
                return self._turned(self._sampler.propose(wanted), is_wanted=True)
        if not self._is_sampled_out:
            own = self._sampler.ask()
            if own is not None:
                return self._turned(own, is_wanted=False)
            self._is_sampled_out = True
        left = self._all_that_is_left()
        return None if left is None else self._turned(self._sampler.propose(left), is_wanted=True)

    def _turned(self, own: Proposal[Any], *, is_wanted: bool) -> Proposal[Turn]:
        return Proposal(design=own.design, handle=Turn(own=own, is_wanted=is_wanted))

    def enqueue(self, design: Design) -> None:
        self._sampler.enqueue(design)

    def vary(
        self, proposal: Proposal[Turn], is_new: Callable[[Design], bool]
    ) -> Proposal[Turn] | None:
        """A variation of the sampler's; if it has none, what the proof wants: no turn is wasted."""
        own = proposal.handle.own
        if not proposal.handle.is_wanted:
            varied = self._sampler.vary(own, is_new)
            if varied is not None:
                return self._turned(varied, is_wanted=False)
        while (wanted := self._all_that_is_left()) is not None:
            if is_new(wanted):
                return self._turned(self._sampler.propose(wanted, own), is_wanted=True)
        return None

    def tell(
        self, proposal: Proposal[Turn], objectives: Mapping[str, float], violation: float
    ) -> None:
        self._sampler.tell(proposal.handle.own, objectives, violation)

    def tell_nothing(self, proposal: Proposal[Turn]) -> None:
        self._sampler.tell_nothing(proposal.handle.own)

    def recall(
        self, asked: Sequence[Design], outcomes: Sequence[Outcome]
    ) -> list[Proposal[Turn]] | None:
        if not self._follows:
            return None
        found = self._sampler.recall(asked, outcomes)
        return None if found is None else [self._turned(own, is_wanted=False) for own in found]

    def hear(self, designs: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
        self._sampler.hear(designs, outcomes)

    def know(self, keys: Keys) -> None:
        self._sampler.know(keys)

    def _wanted(self) -> Design | None:
        for _ in range(self._boxes):
            design = self._prover.ask()
            if design is not None:
                return design
            if not self._prover.advance():
                return None
        return None

    def _all_that_is_left(self) -> Design | None:
        """Next design that the proof wants, however many boxes it takes."""
        while True:
            design = self._prover.ask()
            if design is not None:
                return design
            if not self._prover.advance():
                return None
