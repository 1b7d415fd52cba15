"""What is told of a study in which no design is feasible."""

from dse.evaluate.base import Evaluation
from dse.results.misses import nearest_misses
from dse.study.trials import Trial


def _trial(number: int, reason: str = "", **excesses: float) -> Trial:
    found = Evaluation(state="infeasible", constraints=excesses, reason=reason)
    return Trial(number=number, design={}, evaluation=found)


def test_rules_are_counted_and_the_nearest_trial_breaks_fewest() -> None:
    rows = [
        _trial(0, fits_in_memory=0.1, time=2.0),
        _trial(1, "time is exceeded by 300%.", time=3.0),
        _trial(2, fits_in_memory=0.0, time=5.0),
    ]
    told, other = nearest_misses(rows)
    assert told == "time rules out 3 of 3; nearest: trial 1 (time is exceeded by 300%)"
    assert other == "fits_in_memory rules out 1 of 3; nearest: trial 0, which breaks 1 more"
