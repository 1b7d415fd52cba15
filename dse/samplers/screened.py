"""Holds the proposals of any sampler against what is known before a design is simulated."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from dse.samplers.base import Outcome, Prices, Proposal, Proposer, ProposerInput
from dse.samplers.design import Genomes, GenomeSpace
from dse.samplers.design.screen import screen_of
from dse.samplers.study_proposer import OptunaProposer
from dse.space import Check, Design

_TRIES, _VARIATIONS, _LOT, _LOTS = 20, 200, 256, 20
"""Proposals that are turned down, one after another, before one is varied, how often that is before
designs are drawn instead, and lots of these: then it costs a trial as it is."""


class ScreenedProposer(Proposer[Any]):
    """Asks its sampler again in place of a design that breaks a rule, does not fit or is beaten.

    Such a proposal costs no trial; the sampler is told at once. Of one that proposes nothing else a
    variation is taken, and if there is none that is of use, a design drawn from all of them. Only
    where many drawn ones are of no use is it taken at its word: the row says what is wrong. So it
    is with the designs that a study starts with.
    """

    asks_study = True

    def __init__(self, sampler: OptunaProposer, what: ProposerInput) -> None:
        """*what*: gives the checks before a simulation, and what the trials so far rule out."""
        self._sampler, self._genomes = sampler, GenomeSpace(what.space)
        self._is_hopeful = what.is_hopeful or _always
        self._admits = screen_of(self._genomes, [*what.checks, *_of_prices(what.prices)])
        self._random = Random(what.seed)
        self._to_start_with = 0

    def ask(self) -> Proposal[Any] | None:
        proposal = self._sampler.ask()
        if self._to_start_with:
            self._to_start_with -= 1
            return proposal
        for _ in range(_TRIES):
            if proposal is None:
                return None
            is_admitted = bool(self._are_admitted([proposal.design])[0])
            if is_admitted and self._is_hopeful(proposal.design):
                return proposal
            # what is only beaten is not infeasible: of that one there is nothing to learn
            self._sampler.turn_down(proposal, 0.0 if is_admitted else 1.0)
            proposal = self._sampler.ask()
        if proposal is None or self._first(_always, self._is_hopeful)([proposal.design]) == 0:
            return proposal
        varied = self._varied(proposal, _always, _VARIATIONS)
        return varied or self._drawn(proposal, _always) or proposal

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
        if tries and varied is None:
            varied = self._drawn(proposal, is_new)
        return varied or self._sampler.vary(proposal, is_new, tries)

    def _varied(
        self, proposal: Proposal[Any], is_new: Callable[[Design], bool], tries: int
    ) -> Proposal[Any] | None:
        for is_good in (self._is_hopeful, _always):
            found = self._sampler.vary_to(proposal, self._first(is_new, is_good), tries)
            if found is not None:
                return found
        return None

    def _drawn(
        self, proposal: Proposal[Any], is_new: Callable[[Design], bool]
    ) -> Proposal[Any] | None:
        """A design of use, drawn from all of them, which the trial stands for from now on.

        Of a small space most draws are known by then: what was of no use is not asked about again.
        """
        space, random, known = self._genomes, self._random, set[int]()
        first = self._first(is_new, self._is_hopeful)
        for _ in range(_LOTS):
            drawn = [space.draw(random) for _ in range(_LOT)]
            keys = Genomes.of(drawn).keys().tolist()
            lot = {key: one for key, one in zip(keys, drawn, strict=True) if key not in known}
            known |= lot.keys()
            said = map(space.design, lot.values())
            designs = [design for design in said if self._sampler.can_say(design)]
            at = first(designs)
            if at is not None:
                return self._sampler.propose(designs[at], proposal)
        return None

    def _first(
        self, is_new: Callable[[Design], bool], is_good: Callable[[Design], bool]
    ) -> Callable[[Sequence[Design]], int | None]:
        """Number of the first of some designs that keeps the rules, is new and is good.

        The rules are asked of all at once. What is dear is asked of no more designs than it takes.
        """

        def first(designs: Sequence[Design]) -> int | None:
            new = [at for at, design in enumerate(designs) if is_new(design)]
            admitted = self._are_admitted([designs[at] for at in new])
            able = (at for at, holds in zip(new, admitted, strict=True) if holds)
            return next((at for at in able if is_good(designs[at])), None)

        return first

    def tell(
        self, proposal: Proposal[Any], objectives: Mapping[str, float], violation: float
    ) -> None:
        self._sampler.tell(proposal, objectives, violation)

    def tell_nothing(self, proposal: Proposal[Any]) -> None:
        self._sampler.tell_nothing(proposal)

    def _are_admitted(self, designs: Sequence[Design]) -> Sequence[bool]:
        if not designs:
            return []
        found = [self._genomes.genome(design) for design in designs]
        genomes = [genome for genome in found if genome is not None]
        assert len(genomes) == len(designs), "proposals are designs of the space"
        admitted: list[bool] = self._admits(Genomes.of(genomes)).tolist()
        return admitted


def _of_prices(prices: Prices | None) -> Iterator[Check]:
    """Rule of machines that can be priced: others cannot be built, or exceed a limit on price."""
    if prices is not None:
        amounts = prices.amounts
        yield Check(holds=lambda design: amounts(design) is not None, deciding=prices.deciding)


def _always(design: Design) -> bool:
    return True
