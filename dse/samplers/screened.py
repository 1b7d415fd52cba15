"""Holds the proposals of any sampler against what is known before a design is simulated."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dse.samplers.base import Outcome, Prices, Proposal, Proposer, ProposerInput
from dse.samplers.design import Genomes, GenomeSpace
from dse.samplers.design.screen import screen_of
from dse.samplers.study_proposer import OptunaProposer
from dse.space import Check, Design

_TRIES, _VARIATIONS = 20, 200
"""Proposals that are turned down, one after another, before one is varied, and how often that is:
then it costs a trial as it is."""


class ScreenedProposer(Proposer[Any]):
    """Asks its sampler again in place of a design that breaks a rule, does not fit or is beaten.

    Such a proposal costs no trial; the sampler is told at once. Of one that proposes nothing else a
    variation is taken, and if there is none that is of use, its word: the row says what is wrong.
    So it is with the designs that a study starts with.
    """

    asks_study = True

    def __init__(self, sampler: OptunaProposer, what: ProposerInput) -> None:
        """*what*: gives the checks before a simulation, and what the trials so far rule out."""
        self._sampler, self._genomes = sampler, GenomeSpace(what.space)
        self._is_hopeful = what.is_hopeful or _always
        self._admits = screen_of(self._genomes, [*what.checks, *_of_prices(what.prices)])
        self._to_start_with = 0

    def ask(self) -> Proposal[Any] | None:
        proposal = self._sampler.ask()
        if self._to_start_with:
            self._to_start_with -= 1
            return proposal
        for _ in range(_TRIES):
            if proposal is None or self._is_of_use(proposal.design):
                return proposal
            self._turn_down(proposal)
            proposal = self._sampler.ask()
        if proposal is None or self._is_of_use(proposal.design):
            return proposal
        return self._varied(proposal, _always, _VARIATIONS) or proposal

    def _turn_down(self, proposal: Proposal[Any]) -> None:
        """A design that is only beaten is not infeasible: of that one there is nothing to learn."""
        is_beaten = self._is_admitted(proposal.design)
        self._sampler.turn_down(proposal, 0.0 if is_beaten else 1.0)

    def propose(self, design: Design, instead: Proposal[Any] | None = None) -> Proposal[Any]:
        return self._sampler.propose(design, instead)

    def hear(self, designs: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
        self._sampler.hear(designs, outcomes)

    def enqueue(self, design: Design) -> None:
        self._to_start_with += 1
        self._sampler.enqueue(design)

    def vary(
        self, proposal: Proposal[Any], is_new: Callable[[Design], bool], tries: int
    ) -> Proposal[Any] | None:
        """A new design that is of use; if none is found, one that may be feasible, or any."""
        varied = self._varied(proposal, is_new, tries)
        return varied or self._sampler.vary(proposal, is_new, tries)

    def _varied(
        self, proposal: Proposal[Any], is_new: Callable[[Design], bool], tries: int
    ) -> Proposal[Any] | None:
        for is_good in (self._is_of_use, self._is_admitted):
            found = self._sampler.vary(proposal, _both(is_new, is_good), tries)
            if found is not None:
                return found
        return None

    def tell(
        self, proposal: Proposal[Any], objectives: Mapping[str, float], violation: float
    ) -> None:
        self._sampler.tell(proposal, objectives, violation)

    def tell_nothing(self, proposal: Proposal[Any]) -> None:
        self._sampler.tell_nothing(proposal)

    def _is_of_use(self, design: Design) -> bool:
        return self._is_admitted(design) and self._is_hopeful(design)

    def _is_admitted(self, design: Design) -> bool:
        genome = self._genomes.genome(design)
        assert genome is not None, "proposals are designs of the space"
        return bool(self._admits(Genomes.of([genome]))[0])


def _of_prices(prices: Prices | None) -> Iterator[Check]:
    """Rule of machines that can be priced: others cannot be built, or exceed a limit on price."""
    if prices is not None:
        amounts = prices.amounts
        yield Check(holds=lambda design: amounts(design) is not None, deciding=prices.deciding)


def _both(
    first: Callable[[Design], bool], second: Callable[[Design], bool]
) -> Callable[[Design], bool]:
    return lambda design: first(design) and second(design)


def _always(design: Design) -> bool:
    return True
