"""Trials as islands send them."""

from collections.abc import Sequence

from dse.run.islands.messages import Made
from dse.store.packed import ManyRows
from dse.study.kept import KeptTrials
from dse.study.stretch import outcomes_of
from dse.study.trials import Trial


def packed(trials: Sequence[Trial], known: Sequence[int]) -> Made:
    """Trials with objectives a and b, and two numbers for each, as of ``Hooks.keyed``."""
    kept = KeptTrials()
    kept.extend(trials)
    outcomes = outcomes_of(trials, known, ("a", "b"))
    return Made(trials=kept, outcomes=outcomes, rows=ManyRows((), (), kept.named()))
