"""A sampler and a proof that take turns in one study."""

from collections.abc import Callable, Mapping
from typing import Any

from dse.proof.prove import Prover
from dse.samplers.base import Proposal, Proposer
from dse.space import Design

_BOXES = 64
"""Boxes that the proof looks at in one turn, before the sampler has its own."""


class ProvingProposer(Proposer[Proposal[Any] | None]):
    """Asks the sampler and the proof by turns, until the gap is proven.

    The proof hears of every outcome by itself. A handle is the sampler's own proposal, or None for
    a design that the proof wants.
    """

    def __init__(self, sampler: Proposer[Any], prover: Prover) -> None:
        self._sampler, self._prover = sampler, prover
        self._turn = 0
        self._is_sampled_out = False

    def ask(self) -> Proposal[Proposal[Any] | None] | None:
        """The next design of whose turn it is; None once the gap is proven."""
        if self._prover.is_closed:
            return None
        self._turn += 1
        if self._turn % 2:
            wanted = self._wanted()
            if wanted is not None:
                return Proposal(design=wanted, handle=None)
        if not self._is_sampled_out:
            own = self._sampler.ask()
            if own is not None:
                return Proposal(design=own.design, handle=own)
            self._is_sampled_out = True
        return self._all_that_is_left()

    def enqueue(self, design: Design) -> None:
        self._sampler.enqueue(design)

    def vary(
        self,
        proposal: Proposal[Proposal[Any] | None],
        is_new: Callable[[Design], bool],
        tries: int,
    ) -> Proposal[Proposal[Any] | None] | None:
        """A variation of the sampler's; if it has none, what the proof wants: no turn is wasted."""
        own = proposal.handle
        if own is not None:
            varied = self._sampler.vary(own, is_new, tries)
            if varied is not None:
                return Proposal(design=varied.design, handle=varied)
        while (wanted := self._all_that_is_left()) is not None:
            if is_new(wanted.design):
                if own is not None:
                    self._sampler.tell_nothing(own)
                return wanted
        return None

    def tell(
        self,
        proposal: Proposal[Proposal[Any] | None],
        objectives: Mapping[str, float],
        violation: float,
    ) -> None:
        if proposal.handle is not None:
            self._sampler.tell(proposal.handle, objectives, violation)

    def tell_nothing(self, proposal: Proposal[Proposal[Any] | None]) -> None:
        if proposal.handle is not None:
            self._sampler.tell_nothing(proposal.handle)

    def _wanted(self) -> Design | None:
        for _ in range(_BOXES):
            design = self._prover.ask()
            if design is not None:
                return design
            if not self._prover.advance():
                return None
        return None

    def _all_that_is_left(self) -> Proposal[Proposal[Any] | None] | None:
        """Next proposal of the proof, however many boxes it takes."""
        while True:
            design = self._prover.ask()
            if design is not None:
                return Proposal(design=design, handle=None)
            if not self._prover.advance():
                return None
