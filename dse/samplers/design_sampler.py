"""The `design` search as a sampler for anyone's own Optuna study."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from optuna.trial import FrozenTrial, TrialState

from dse.objectives import Goals, Sense
from dse.samplers.base import Proposal, ProposerInput
from dse.samplers.design import Settings
from dse.samplers.design_proposer import DesignProposer
from dse.samplers.look import GeneView, suggested
from dse.samplers.proposed import ProposedSampler
from dse.space import Check, Design, Space
from dse.space.encoding import Style

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial


class DesignSampler(ProposedSampler):
    """Samples the designs of one space, in a study that asks for ``sampler.design(trial)``.

    Objectives of either direction; constraints as Optuna knows them. It learns from all trials,
    those that other samplers proposed included. Any number of trials may be open at once.
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
        super().__init__(GeneView(space, style), None, (), seed)
        self._space, self._seed, self._settings = space, seed, settings
        names = frozenset(space.parameters)
        self._checks = [] if admits is None else [Check(holds=admits, deciding=names)]
        self._search: DesignProposer | None = None

    def design(self, trial: "Trial") -> Design:
        """The design that a trial of the study stands for; asks for all its parameters."""
        for name, drawn_from in self._view.distributions.items():
            suggested(trial, name, drawn_from)
        return self._view.design(trial.params)

    def before_trial(self, study: "Study", trial: FrozenTrial) -> None:
        """Begin with the study: its directions decide what is better."""
        if self._search is not None:
            return
        senses: dict[str, Sense] = {"MINIMIZE": "minimise", "MAXIMIZE": "maximise"}
        wanted = [senses[direction.name] for direction in study.directions]
        self._names = tuple(f"value {place}" for place in range(len(wanted)))
        what = ProposerInput(
            space=self._space,
            goals=_Directions(objectives=dict(zip(self._names, wanted, strict=True))),
            seed=self._seed,
            checks=self._checks,
        )
        self.proposer = self._search = DesignProposer(what, self._settings)

    def after_trial(
        self,
        study: "Study",
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        proposal, other = self.given(trial.number), self.of_others(trial)
        if proposal is not None and other is not None and proposal.genome != other.genome:
            self.drop(trial.number)  # whoever asked has made another design of it
        super().after_trial(study, trial, state, values)

    def of_others(self, trial: FrozenTrial) -> Proposal[Any] | None:
        design = self.meant(trial)
        return None if design is None or self._search is None else self._search.known(design)


class _Directions(Goals):
    """Goals of somebody's own study, whose objectives have no names of ours."""

    def __post_init__(self) -> None:
        """Take any names."""
