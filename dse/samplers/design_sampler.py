"""The `design` search as a sampler for anyone's own Optuna study."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial, TrialState

from dse.samplers.design import DesignSearch, Genome, GenomeSpace, Settings
from dse.samplers.design.screen import screen_of
from dse.samplers.optuna_proposer import distribution, from_optuna, to_optuna
from dse.space import Check, Design, Encoding, Space
from dse.space.encoding import Style

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial


class DesignSampler(BaseSampler):
    """Samples the designs of one space, in a study that asks for ``sampler.design(trial)``.

    Objectives of either direction; constraints as Optuna knows them. Parameters that an objective
    asks for beside the space are drawn uniformly.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int = 0,
        style: Style = "index",
        settings: Settings | None = None,
        admits: Callable[[Design], bool] | None = None,
    ) -> None:
        """A sampler that has seen nothing yet.

        Args:
            space: What to search.
            seed: The same one gives the same study on one worker.
            style: How the parameters of the study say what a design is.
            settings: Of the search; ``LOCAL`` for a descent from the best known designs.
            admits: Whether a design may be feasible, as far as can be told at once.
        """
        self._genomes = GenomeSpace(space)
        self._encoding = Encoding(space, style)
        self._distributions = {gene.name: distribution(gene) for gene in self._encoding.genes}
        names = frozenset(space.parameters)
        screen = (
            None
            if admits is None
            else screen_of(self._genomes, [Check(holds=admits, deciding=names)])
        )
        self._search = DesignSearch(self._genomes, seed=seed, screen=screen, settings=settings)
        self._others = RandomSampler(seed=seed)
        self._asked: dict[int, Genome] = {}

    def design(self, trial: "Trial") -> Design:
        """The design that a trial of the study stands for; asks for all its parameters."""
        for name, drawn_from in self._distributions.items():
            _suggest(trial, name, drawn_from)
        return self._meant(trial.params)

    def _meant(self, params: Mapping[str, Any]) -> Design:
        genes = self._encoding.genes
        return self._encoding.design({g.name: from_optuna(g, params[g.name]) for g in genes})

    def infer_relative_search_space(
        self, study: "Study", trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return dict(self._distributions)

    def sample_relative(
        self, study: "Study", trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        genome = self._search.ask()
        if genome is None:
            return {}
        self._asked[trial.number] = genome
        space, design = self._genomes, self._genomes.design(genome)
        values = self._encoding.values(genome.dimensions, space.rows(genome), design)
        return {gene.name: to_optuna(gene, values[gene.name]) for gene in self._encoding.genes}

    def sample_independent(
        self,
        study: "Study",
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: "Study",
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        genome = self._asked.pop(trial.number, None)
        if genome is None and self._distributions.keys() <= trial.params.keys():
            genome = self._genomes.genome(self._meant(trial.params))  # another one asked for it
        if genome is None:
            return
        if state != TrialState.COMPLETE or values is None:
            self._search.tell(genome, None, 0.0)
            return
        signs = [1 if direction.name == "MINIMIZE" else -1 for direction in study.directions]
        excess = sum(max(0.0, value) for value in trial.constraints.values())
        told = [sign * value for sign, value in zip(signs, values, strict=True)]
        self._search.tell(genome, told, excess)


def _suggest(trial: "Trial", name: str, drawn_from: BaseDistribution) -> None:
    if isinstance(drawn_from, CategoricalDistribution):
        trial.suggest_categorical(name, drawn_from.choices)
    elif isinstance(drawn_from, IntDistribution):
        trial.suggest_int(name, drawn_from.low, drawn_from.high)
    elif isinstance(drawn_from, FloatDistribution):
        trial.suggest_float(name, drawn_from.low, drawn_from.high, log=drawn_from.log)
