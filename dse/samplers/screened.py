"""Holds the proposals of any sampler against what is known before a design is simulated."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dse.samplers.base import Outcome, Prices, Proposal, Proposer, ProposerInput
from dse.samplers.design import Genomes, GenomeSpace
from dse.samplers.design.screen import screen_of
from dse.samplers.mending import USE, Mender, Wants
from dse.samplers.study_proposer import OptunaProposer
from dse.space import Check, Design

_TRIES = 20
"""Draws that are turned down, one after another, before one is mended."""


class ScreenedProposer(Proposer[Any]):
    """Mends each proposal of its sampler that breaks a rule, does not fit, is beaten or known.

    One ask of the sampler is one trial: in place of a design that is of no use comes the nearest
    one that is, and the sampler is told about that one. A sampler that only draws, so that asking
    costs next to nothing, is asked again some times first: what it draws stays uniform. Only where
    no design of use is found is a sampler taken at its word: the row says what is wrong. So it is
    with the designs that a study starts with.
    """

    asks_study = True

    def __init__(
        self, sampler: OptunaProposer, what: ProposerInput, *, draws: bool = False
    ) -> None:
        """A screen before *sampler*.

        Args:
            sampler: What proposes.
            what: Gives the checks before a simulation, and what the trials so far rule out.
            draws: Whether it draws each design by itself, and learns nothing.
        """
        self._sampler, self._genomes = sampler, GenomeSpace(what.space)
        self._is_hopeful = what.is_hopeful or _always
        self._admits = screen_of(self._genomes, [*what.checks, *_of_prices(what.prices)])
        self._mender = Mender(self._genomes, self._admits, self._is_hopeful, what.hopes, what.seed)
        self._asks = _TRIES if draws else 0
        self._meant: Proposal[Any] | None = None  # the last one as the sampler made it
        self._to_start_with = 0

    def ask(self) -> Proposal[Any] | None:
        proposal = self._sampler.ask()
        if self._to_start_with:
            self._to_start_with -= 1
            return proposal
        for left in range(self._asks, -1, -1):
            is_admitted = self._is_admitted(proposal.design)
            if is_admitted and self._is_hopeful(proposal.design):
                break
            if not left:
                self._meant = proposal
                return self._mended(proposal, _always, USE[: 1 if is_admitted else 2]) or proposal
            # what is only beaten is not infeasible: of that one there is nothing to learn
            self._sampler.turn_down(proposal, 0.0 if is_admitted else 1.0)
            proposal = self._sampler.ask()
        self._meant = proposal
        return proposal

    def propose(self, design: Design, instead: Proposal[Any] | None = None) -> Proposal[Any]:
        return self._sampler.propose(design, instead)

    def hear(self, designs: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
        self._sampler.hear(designs, outcomes)

    def enqueue(self, design: Design) -> None:
        self._to_start_with += 1
        self._sampler.enqueue(design)

    def vary(
        self, proposal: Proposal[Any], is_new: Callable[[Design], bool]
    ) -> Proposal[Any] | None:
        """A new design that is of use; if none is found, one that may be feasible, or any."""
        return self._mended(proposal, is_new, USE)

    def _mended(
        self, proposal: Proposal[Any], is_new: Callable[[Design], bool], use: Sequence[Wants]
    ) -> Proposal[Any] | None:
        """The trial of *proposal*, for the design nearest to what its sampler meant.

        *use*: what is wanted of the design; the later ones where nothing meets the earlier ones.
        """
        meant = self._meant
        if meant is None or meant.handle != proposal.handle:
            meant = proposal
        for wants in use:
            found = self._mender.mended(meant.design, is_new, wants)
            if found is not None:
                return self._sampler.propose(found, proposal)
        return None

    def tell(
        self, proposal: Proposal[Any], objectives: Mapping[str, float], violation: float
    ) -> None:
        self._mender.told += 1
        self._sampler.tell(proposal, objectives, violation)

    def tell_nothing(self, proposal: Proposal[Any]) -> None:
        self._sampler.tell_nothing(proposal)

    def _is_admitted(self, design: Design) -> bool:
        genome = self._genomes.genome(design)
        assert genome is not None, "proposals are designs of the space"
        return bool(self._admits(Genomes.of([genome]))[0])


def _of_prices(prices: Prices | None) -> Iterator[Check]:
    """Rule of machines that can be priced: others cannot be built, or exceed a limit on price."""
    if prices is not None:
        amounts = prices.amounts
        yield Check(holds=lambda design: amounts(design) is not None, deciding=prices.deciding)


def _always(design: Design) -> bool:
    return True
