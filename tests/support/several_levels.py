"""A study that judges its best designs again at a finer fidelity."""

from pathlib import Path
from typing import Any

import pandas as pd
from small_study import STUDY

from dse.results.result import StudyResult
from dse.run.runner import Runner
from dse.study.compile import Study, compile_study

ORDER = "system.inter_dimension"
COARSE, FINE = "phases_together", "congestion_aware_multidim"
TRIALS = 60  # thrice what is judged again; of few designs that are left each takes ever longer
SEARCH = {
    **STUDY["search"],
    "trials": TRIALS,
    "fidelity": ["bound", COARSE, FINE],
    "promote": 16,
    "controls": 4,
    "settle": 0,
}
SEVERAL = {**STUDY, "search": SEARCH}


def study_of(**search: Any) -> Study:
    return compile_study({**SEVERAL, "search": {**SEARCH, **search}})


def run(study: Study, out: Path | None = None, **options: Any) -> StudyResult:
    given = {"resume": False, "watcher": None, **options}
    return Runner(study, out=out, **given).search(None)


def comparable(result: StudyResult) -> pd.DataFrame:
    """All but who evaluated a design, and how long it took."""
    return result.trials.drop(columns=["duration_s", "worker"])
