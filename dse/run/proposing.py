"""The proposer of a study, with all that is known of its designs beforehand."""

from typing import Any

from dse.evaluate import Evaluator
from dse.proof.machines import machine_prices
from dse.proof.screening import StudyScreen
from dse.samplers.base import Proposer, ProposerInput, Twins
from dse.samplers.registry import ENCODINGS, build_proposer
from dse.samplers.storage import TrialStorage
from dse.study.compile import Study


def study_proposer(
    study: Study,
    evaluator: Evaluator,
    screen: StudyScreen,
    *,
    seed: int,
    trials: int | None,
    storage: TrialStorage | None = None,
) -> Proposer[Any]:
    """The sampler that a study names.

    Args:
        study: The study.
        evaluator: Gives the rules that are known beforehand, and the designs that are alike.
        screen: Tells what the trials so far rule out.
        seed: Of the sampler.
        trials: Proposals that will be asked for; None: not known.
        storage: As of ``ProposerInput``.
    """
    search = study.file.search
    return build_proposer(
        search.sampler,
        ProposerInput(
            space=study.space,
            goals=study.goals,
            seed=seed,
            population=search.population,
            arguments=search.sampler_arguments,
            look=ENCODINGS.get(search.encoding or ""),
            storage=storage,
            checks=evaluator.checks(),
            prices=machine_prices(study),
            is_hopeful=screen.is_hopeful,
            hopes=screen,
            twins=Twins(canonical=evaluator.canonical, deciding=evaluator.twin_knobs),
            trials=trials,
            window=search.window,
        ),
    )
