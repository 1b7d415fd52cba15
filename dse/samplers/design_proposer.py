"""The `design` search as a study's proposer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dse.samplers.base import Outcome, Proposal, Proposer, ProposerInput, most_open
from dse.samplers.design import DesignSearch, Genome, GenomeSpace, Settings
from dse.samplers.design.columns.genomes import Keys
from dse.samplers.design.screen import folding, screen_of
from dse.space import Design


class DesignProposer(Proposer[Genome]):
    """Never proposes a design twice, and never one that the study's screen turns down."""

    trims = True

    def __init__(self, what: ProposerInput, settings: Settings | None = None) -> None:
        self._space = GenomeSpace(what.space)
        self._signs = tuple(zip(what.goals.objectives, what.goals.signs, strict=True))
        settings = replace(settings or Settings(), searches=what.searches)
        self.in_lessons = settings.children > 0
        if what.population is not None:
            settings = replace(settings, initial=what.population)
        self._search = DesignSearch(
            self._space,
            seed=what.seed,
            screen=screen_of(self._space, what.checks),
            prices=what.prices,
            hopes=what.hopes,
            fold=folding(self._space, what.twins),
            settings=settings,
            opened=None if what.window is None else self._opened(what.window),
        )

    def ask(self) -> Proposal[Genome] | None:
        genome = self._search.ask()
        return None if genome is None else self._proposal(genome)

    def trim(self, is_new: Callable[[Design], bool]) -> Proposal[Genome] | None:
        genome = self._search.trim(_of_genomes(self._space, is_new))
        return None if genome is None else self._proposal(genome)

    def free_step(self, is_new: Callable[[Design], bool]) -> Proposal[Genome] | None:
        genome = self._search.free_step(_of_genomes(self._space, is_new))
        return None if genome is None else self._proposal(genome)

    def known(self, design: Design) -> Proposal[Genome] | None:
        """Proposal of a *design* that somebody else asked for; None: it is not of the space."""
        genome = self._space.genome(design)
        return None if genome is None else Proposal(design=design, handle=genome, genome=genome)

    def enqueue(self, design: Design) -> None:
        genome = self._space.genome(design)
        if genome is not None:
            self._search.enqueue(genome)

    def recall(
        self, designs: Sequence[Design], outcomes: Sequence[Outcome]
    ) -> list[Proposal[Genome]] | None:
        genomes = self._space.genomes(designs)
        if genomes is None:
            return None
        told = [(self._values(found.objectives), found.violation) for found in outcomes]
        self._search.recall(genomes, told)
        pairs = zip(designs[len(told) :], genomes[len(told) :], strict=True)
        return [Proposal(design=design, handle=genome, genome=genome) for design, genome in pairs]

    def hear(self, designs: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
        for genome, outcome in zip(self._space.genomes(designs) or (), outcomes, strict=False):
            self._search.hear(genome, self._values(outcome.objectives), outcome.violation)

    def know(self, keys: Keys) -> None:
        self._search.know(keys)

    def vary(
        self, proposal: Proposal[Genome], is_new: Callable[[Design], bool]
    ) -> Proposal[Genome] | None:
        """The design that would have been asked for if all that are known had been left out."""
        genome = self._search.ask_instead(
            proposal.handle, lambda genome: is_new(self._space.design(genome))
        )
        return None if genome is None else self._proposal(genome)

    def tell(
        self, proposal: Proposal[Genome], objectives: Mapping[str, float], violation: float
    ) -> None:
        self._search.tell(proposal.handle, self._values(objectives), violation)

    def tell_nothing(self, proposal: Proposal[Genome]) -> None:
        self._search.tell(proposal.handle, None, 0.0)

    def _opened(self, window: int) -> Callable[[int], int]:
        return lambda told: most_open(window, told, in_lessons=self.in_lessons)

    def _proposal(self, genome: Genome) -> Proposal[Genome]:
        return Proposal(design=self._space.design(genome), handle=genome, genome=genome)

    def _values(self, objectives: Mapping[str, float]) -> list[float] | None:
        if not objectives:
            return None
        return [sign * objectives[name] for name, sign in self._signs]


def _of_genomes(space: GenomeSpace, ask: Callable[[Design], bool]) -> Callable[[Genome], bool]:
    return lambda genome: ask(space.design(genome))
