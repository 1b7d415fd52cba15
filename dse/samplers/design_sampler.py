"""The `design` search as a sampler for anyone's own Optuna study."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial, TrialState

from dse.samplers.design import DesignSearch, Genome, GenomeSpace
from dse.samplers.optuna_genes import distribution, from_optuna, to_optuna
from dse.space import Design, Encoding, Space

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial


class DesignSampler(BaseSampler):
    """Samples the designs of one space, in a study that asks for ``sampler.design(trial)``.

    Objectives of either direction; constraints as Optuna knows them. Parameters that an objective
    asks for beside the space are drawn uniformly.
    """

    def __init__(self, space: Space, *, seed: int = 0) -> None:
        """*space*: what to search; *seed*: the same one gives the same study on one worker."""
        self._genomes = GenomeSpace(space)
        self._encoding = Encoding(space, "index")
        self._distributions = {gene.name: distribution(gene) for gene in self._encoding.genes}
        self._search = DesignSearch(self._genomes, seed=seed)
        self._others = RandomSampler(seed=seed)
        self._asked: dict[int, Genome] = {}

    def design(self, trial: "Trial") -> Design:
        """The design that a trial of the study stands for; asks for all its parameters."""
        for name, drawn_from in self._distributions.items():
            _suggest(trial, name, drawn_from)
        genes = self._encoding.genes
        return self._encoding.design({g.name: from_optuna(g, trial.params[g.name]) for g in genes})

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
