"""Asks an Optuna study for designs and tells it what became of them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.objectives import Goals
from dse.samplers.registry import SAMPLERS
from dse.space import Design, Encoding, Gene, Space, Value
from dse.space.encoding import Genes

if TYPE_CHECKING:
    import optuna

FEASIBILITY = "violation"
"""Name of the one constraint that samplers see: the sum of what exceeds, 0 if feasible."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """One design that the sampler asked for, and the handle to answer with."""

    design: Design
    trial: "optuna.trial.Trial" = field(repr=False)
    genes: Genes = field(default_factory=dict, repr=False)


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
        self._goals, self._knows_limits = goals, entry.knows_limits
        self._random = np.random.default_rng([seed, 1])  # apart from the sampler's own stream
        self._worst: list[float] | None = None
        self.study: optuna.Study = optuna.create_study(
            directions=["minimize" if sign > 0 else "maximize" for sign in goals.signs],
            sampler=entry.build(seed, population),
        )

    def ask(self) -> Proposal:
        """The next design of the sampler; always valid, not always new."""
        trial = self.study.ask(self._distributions)
        values = {gene.name: self._position(gene, trial) for gene in self._encoding.genes}
        return Proposal(design=self._encoding.design(values), trial=trial, genes=values)

    def vary(
        self, proposal: Proposal, is_new: Callable[[Design], bool], tries: int
    ) -> Proposal | None:
        """A new design near one that is known already, as a trial of its own.

        The known proposal is told as failed, so that it does not count twice for the sampler.

        Args:
            proposal: Of a known design.
            is_new: Whether a design has not been proposed yet.
            tries: Variations to look at; each changes a few genes, later ones more.

        Returns:
            The new proposal, or None if all variations are known too; then *proposal* is open
            still.
        """
        for attempt in range(tries):
            changes = 1 + attempt * len(self._encoding.genes) // (2 * tries)
            values = self._varied(proposal.genes, changes)
            if is_new(self._encoding.design(values)):
                self.tell_nothing(proposal)
                named = {
                    gene.name: self._param(gene, values[gene.name]) for gene in self._encoding.genes
                }
                self.study.enqueue_trial(named)
                return self.ask()
        return None

    def _varied(self, genes: Genes, changes: int) -> dict[str, int | float]:
        """*genes* with up to *changes* of them moved: steps by one or two, others anew."""
        values = dict(genes)
        for index in self._random.integers(len(self._encoding.genes), size=changes):
            gene = self._encoding.genes[index]
            if gene.kind == "real":
                values[gene.name] = _drawn(gene, float(self._random.random()))
            elif gene.kind == "step" and gene.size > 4:
                move = int(self._random.choice((-2, -1, 1, 2)))
                values[gene.name] = min(max(int(values[gene.name]) + move, 0), gene.size - 1)
            else:
                values[gene.name] = int(self._random.integers(gene.size))
        return values

    def tell(self, proposal: Proposal, objectives: Mapping[str, float], violation: float) -> None:
        """The outcome of a design.

        Args:
            proposal: What was asked.
            objectives: Values by name; empty if the design is infeasible and was not evaluated.
                It then takes the worst seen so far, for samplers that know no constraints.
            violation: Sum of what exceeds; 0 or less is feasible.
        """
        if self._knows_limits:
            proposal.trial.set_constraint(FEASIBILITY, violation)
        elif violation > 0:
            objectives = {}
        self.study.tell(proposal.trial, self._told_values(objectives))

    def tell_nothing(self, proposal: Proposal) -> None:
        """The evaluation failed, which says nothing about the design."""
        from optuna.trial import TrialState

        self.study.tell(proposal.trial, state=TrialState.FAIL)

    def _param(self, gene: Gene, value: int | float) -> Value:
        """The value of a gene as Optuna records it."""
        from optuna.distributions import CategoricalDistribution

        if isinstance(self._distributions[gene.name], CategoricalDistribution) and gene.labels:
            return gene.labels[int(value)]
        return value

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


def _drawn(gene: Gene, share: float) -> float:
    """The value at *share*, in [0, 1), of the range of a real gene."""
    if gene.log:
        return float(gene.low * (gene.high / gene.low) ** share)
    return gene.low + (gene.high - gene.low) * share


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
