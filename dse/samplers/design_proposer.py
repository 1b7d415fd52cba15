"""The `design` search as a study's proposer."""

from collections.abc import Callable, Mapping

from dse.samplers.base import Proposal, Proposer, ProposerInput
from dse.samplers.design import DesignSearch, Genome, GenomeSpace, Settings
from dse.samplers.design.screen import DesignScreen
from dse.space import Design


class DesignProposer(Proposer[Genome]):
    """Never proposes a design twice, and never one that the study's screen turns down."""

    def __init__(self, what: ProposerInput) -> None:
        self._space = GenomeSpace(what.space)
        self._goals = what.goals
        settings = Settings() if what.population is None else Settings(initial=what.population)
        screen = (
            None if what.admits is None else DesignScreen(self._space, what.admits, what.deciding)
        )
        self._search = DesignSearch(self._space, seed=what.seed, screen=screen, settings=settings)

    def ask(self) -> Proposal[Genome] | None:
        genome = self._search.ask()
        if genome is None:
            return None
        return Proposal(design=self._space.design(genome), handle=genome)

    def enqueue(self, design: Design) -> None:
        genome = self._space.genome(design)
        if genome is not None:
            self._search.enqueue(genome)

    def vary(
        self, proposal: Proposal[Genome], is_new: Callable[[Design], bool], tries: int
    ) -> Proposal[Genome] | None:
        for _ in range(tries):
            found = self.ask()
            if found is None:
                return None
            if is_new(found.design):
                return found
        return None

    def tell(
        self, proposal: Proposal[Genome], objectives: Mapping[str, float], violation: float
    ) -> None:
        values = None
        if objectives:
            pairs = zip(self._goals.objectives, self._goals.signs, strict=True)
            values = [sign * objectives[name] for name, sign in pairs]
        self._search.tell(proposal.handle, values, violation)

    def tell_nothing(self, proposal: Proposal[Genome]) -> None:
        self._search.tell(proposal.handle, None, 0.0)
