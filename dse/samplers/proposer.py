"""Asks an Optuna study for designs and tells it what became of them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dse.objectives import Goals
from dse.samplers.registry import SAMPLERS
from dse.space import Design, Encoding, Gene, Space

if TYPE_CHECKING:
    import optuna

FEASIBILITY = "violation"
"""Name of the one constraint that samplers see: the sum of what exceeds, 0 if feasible."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """One design that the sampler asked for, and the handle to answer with."""

    design: Design
    trial: "optuna.trial.Trial" = field(repr=False)


class Proposer:
    """A real ``optuna.Study`` in memory, with the same parameter names in every trial."""

    def __init__(
        self, space: Space, goals: Goals, *, sampler: str, seed: int, population: int | None
    ) -> None:
        import optuna

        entry = SAMPLERS[sampler]
        entry.check(sampler, len(goals.objectives))
        logging.getLogger("optuna").setLevel(logging.WARNING)
        self._encoding = Encoding(space, entry.style)
        self._distributions = {
            gene.name: _distribution(gene, keeps_words=entry.keeps_words)
            for gene in self._encoding.genes
        }
        self._goals = goals
        self._worst: list[float] | None = None
        self.study: optuna.Study = optuna.create_study(
            directions=["minimize" if sign > 0 else "maximize" for sign in goals.signs],
            sampler=entry.build(seed, population),
        )

    def ask(self) -> Proposal:
        """The next design of the sampler; always valid, not always new."""
        trial = self.study.ask(self._distributions)
        values = {gene.name: self._position(gene, trial) for gene in self._encoding.genes}
        return Proposal(design=self._encoding.design(values), trial=trial)

    def tell(
        self, proposal: Proposal, objectives: Mapping[str, float], violation: float
    ) -> None:
        """The outcome of a design.

        Args:
            proposal: What was asked.
            objectives: Values by name; empty if the design is infeasible and was not evaluated.
                It then takes the worst seen so far, for samplers that know no constraints.
            violation: Sum of what exceeds; 0 or less is feasible.
        """
        proposal.trial.set_constraint(FEASIBILITY, violation)
        self.study.tell(proposal.trial, self._told_values(objectives))

    def tell_nothing(self, proposal: Proposal) -> None:
        """The evaluation failed, which says nothing about the design."""
        from optuna.trial import TrialState

        self.study.tell(proposal.trial, state=TrialState.FAIL)

    def _position(self, gene: Gene, trial: "optuna.trial.Trial") -> int | float:
        from optuna.distributions import CategoricalDistribution

        value = trial.params[gene.name]
        if isinstance(self._distributions[gene.name], CategoricalDistribution) and gene.labels:
            return gene.labels.index(value)
        return float(value) if gene.kind == "real" else int(value)

    def _told_values(self, objectives: Mapping[str, float]) -> Sequence[float]:
        names, signs = list(self._goals.objectives), self._goals.signs
        if not objectives:
            return self._worst or [sign * 1e30 for sign in signs]
        values = [objectives[name] for name in names]
        worst = self._worst or values
        pairs = zip(signs, worst, values, strict=True)
        self._worst = [max(a, b) if sign > 0 else min(a, b) for sign, a, b in pairs]
        return values


def _distribution(gene: Gene, *, keeps_words: bool) -> Any:
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if gene.kind == "real":
        return FloatDistribution(gene.low, gene.high, log=gene.log)
    if gene.kind == "step" or not keeps_words:
        return IntDistribution(0, gene.size - 1)
    return CategoricalDistribution(gene.labels or tuple(range(gene.size)))
