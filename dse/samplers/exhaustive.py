"""Proposes every design of a space, one after another."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from dse.samplers.base import Proposal, Proposer, ProposerInput
from dse.space import Design
from simcore import ConfigError


class ExhaustiveProposer(Proposer[None]):
    """Learns nothing; leaves out what the study's screen turns down."""

    is_complete = True

    def __init__(self, what: ProposerInput) -> None:
        """Start with the first design.

        Raises:
            ConfigError: A knob has a range.
        """
        if what.space.counts.continuous:
            rule = "exhaustive needs a list of values for every knob"
            raise ConfigError("search.sampler", rule, got="a knob with a range")
        self._first: deque[Design] = deque()
        self._rest: Iterator[Design] = filter(what.admits, what.space.designs())

    def ask(self) -> Proposal[None] | None:
        design = self._first.popleft() if self._first else next(self._rest, None)
        return None if design is None else Proposal(design=design, handle=None)

    def enqueue(self, design: Design) -> None:
        self._first.append(design)

    def vary(
        self, proposal: Proposal[None], is_new: Callable[[Design], bool]
    ) -> Proposal[None] | None:
        """The next new design; however many are known, since a pass over them costs little."""
        while (found := self.ask()) is not None:
            if is_new(found.design):
                return found
        return None

    def tell(
        self, proposal: Proposal[None], objectives: Mapping[str, float], violation: float
    ) -> None:
        """Nothing to learn."""

    def tell_nothing(self, proposal: Proposal[None]) -> None:
        """Nothing to learn."""


def fits(what: ProposerInput) -> bool:
    """True if the trials suffice for every design of the space."""
    counts = what.space.counts
    return what.trials is not None and not counts.continuous and counts.searched <= what.trials
