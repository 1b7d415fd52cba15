"""The proposer of a study, with all that is known of its designs beforehand."""

from typing import Any

import numpy as np

from dse.evaluate import Evaluator
from dse.proof.machines import machine_prices
from dse.proof.screening import StudyScreen
from dse.samplers.base import Proposer, ProposerInput, Twins
from dse.samplers.registry import ENCODINGS, build_proposer
from dse.samplers.storage import TrialStorage
from dse.study.compile import Study


def island_seed(seed: int, island: int) -> int:
    """Seed of an island's sampler: the child of the study's with that number."""
    child = np.random.SeedSequence(seed, spawn_key=(island,))
    return int(child.generate_state(1, np.uint32)[0])


def study_proposer(
    study: Study,
    evaluator: Evaluator,
    screen: StudyScreen,
    *,
    trials: int | None,
    island: int | None = None,
    storage: TrialStorage | None = None,
) -> Proposer[Any]:
    """The sampler that a study names.

    Args:
        study: The study.
        evaluator: Tells which designs are alike.
        screen: Gives the rules that are known beforehand, and tells what the trials so far rule
            out.
        trials: Proposals that will be asked for; None: not known.
        island: Number of the island that it proposes for; None: for the study as a whole.
        storage: As of ``ProposerInput``.
    """
    search, seed = study.file.search, study.file.seed
    if island is not None:
        seed = island_seed(seed, island)
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
            checks=screen.checks,
            prices=machine_prices(study),
            is_hopeful=screen.is_hopeful,
            hopes=screen,
            twins=Twins(canonical=evaluator.canonical, deciding=evaluator.twin_knobs),
            trials=trials,
            window=search.window,
            searches=1 if island is None else search.islands,
        ),
    )
