"""Asks an Optuna study for designs and tells it what became of them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.samplers.base import Proposal, Proposer, ProposerInput
from dse.samplers.design import GenomeSpace
from dse.space import Design, Encoding, Gene, Value
from dse.space.encoding import Style
from dse.space.genes import Genes

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler

FEASIBILITY = "violation"
"""Name of the one constraint that samplers see: the sum of what exceeds, 0 if feasible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """View of the space for a sampler of Optuna.

    Attributes:
        style: How it sees blocks of knobs.
        keeps_words: Whether it can handle unordered choices; otherwise they become steps.
        knows_limits: Whether it makes use of constraints; otherwise infeasible designs are told
            to it as the worst seen so far.
    """

    style: Style
    keeps_words: bool = True
    knows_limits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """An open trial of the Optuna study, and the values of its genes."""

    trial: "optuna.trial.Trial"
    genes: Genes


class OptunaProposer(Proposer[Asked]):
    """A real ``optuna.Study`` in memory, with the same parameter names in every trial."""

    def __init__(self, what: ProposerInput, look: Look, sampler: "BaseSampler") -> None:
        import optuna

        logging.getLogger("optuna").setLevel(logging.WARNING)
        self._encoding = Encoding(what.space, look.style)
        self._distributions = {
            gene.name: distribution(gene, keeps_words=look.keeps_words)
            for gene in self._encoding.genes
        }
        self._goals, self._look = what.goals, look
        self._random = np.random.default_rng([what.seed, 1])  # apart from the sampler's stream
        self._worst: list[float] | None = None
        self.study: optuna.Study = optuna.create_study(
            directions=["minimize" if sign > 0 else "maximize" for sign in what.goals.signs],
            sampler=sampler,
        )

    def ask(self) -> Proposal[Asked]:
        """The next design of the sampler; always valid, not always new."""
        trial = self.study.ask(self._distributions)
        keeps = self._look.keeps_words
        values = {
            gene.name: from_optuna(gene, trial.params[gene.name], keeps_words=keeps)
            for gene in self._encoding.genes
        }
        asked = Asked(trial=trial, genes=values)
        return Proposal(design=self._encoding.design(values), handle=asked)

    def enqueue(self, design: Design) -> None:
        space = GenomeSpace(self._encoding.space)
        genome = space.genome(design)
        if genome is not None:
            self._enqueue(self._encoding.values(genome.dimensions, space.rows(genome), design))

    def _enqueue(self, values: Genes) -> None:
        keeps = self._look.keeps_words
        named = {
            gene.name: to_optuna(gene, values[gene.name], keeps_words=keeps)
            for gene in self._encoding.genes
        }
        self.study.enqueue_trial(named)

    def vary(
        self, proposal: Proposal[Asked], is_new: Callable[[Design], bool], tries: int
    ) -> Proposal[Asked] | None:
        """A new design near the known one, as a trial of its own.

        The known proposal is told as failed, so that it does not count twice for the sampler.
        Each variation changes a few genes, later ones more.
        """
        for attempt in range(tries):
            changes = 1 + attempt * len(self._encoding.genes) // (2 * tries)
            values = self._varied(proposal.handle.genes, changes)
            if is_new(self._encoding.design(values)):
                self.tell_nothing(proposal)
                self._enqueue(values)
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

    def tell(
        self, proposal: Proposal[Asked], objectives: Mapping[str, float], violation: float
    ) -> None:
        """The outcome; a design that was not evaluated takes the worst values seen so far."""
        if self._look.knows_limits:
            proposal.handle.trial.set_constraint(FEASIBILITY, violation)
        elif violation > 0:
            objectives = {}
        self.study.tell(proposal.handle.trial, self._told_values(objectives))

    def tell_nothing(self, proposal: Proposal[Asked]) -> None:
        from optuna.trial import TrialState

        self.study.tell(proposal.handle.trial, state=TrialState.FAIL)

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


def distribution(gene: Gene, *, keeps_words: bool = True) -> "BaseDistribution":
    """Optuna distribution of *gene*; *keeps_words*: choices without order stay so."""
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


def to_optuna(gene: Gene, value: int | float, *, keeps_words: bool = True) -> Value:
    """The value of a gene as Optuna records it."""
    if gene.kind == "choice" and gene.labels and keeps_words:
        return gene.labels[int(value)]
    return value


def from_optuna(gene: Gene, value: Any, *, keeps_words: bool = True) -> int | float:
    """The value of a gene that Optuna has recorded as *value*."""
    if gene.kind == "choice" and gene.labels and keeps_words:
        return gene.labels.index(value)
    return float(value) if gene.kind == "real" else int(value)
