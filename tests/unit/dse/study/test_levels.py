"""Which lists of fidelities a study file may have."""

from typing import Any

import pytest
from small_study import STUDY

from dse.study.compile import compile_study
from simcore import ConfigError

COARSE, FINE = "phases_together", "congestion_aware_multidim"
SEVERAL = {**STUDY, "search": {**STUDY["search"], "fidelity": ["bound", COARSE, FINE]}}


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ({"fidelity": ["psychic"]}, r"search\.fidelity\[0\]: a fidelity must be one of bound"),
        ({"fidelity": [FINE, COARSE]}, "from coarse to fine"),
        ({"fidelity": [COARSE, COARSE]}, "each once"),
        ({"fidelity": ["bound"]}, "must name a network backend"),
        ({"screening": False}, r"search\.screening: must be true"),
    ],
)
def test_a_list_that_means_nothing_is_refused(search: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        compile_study({**SEVERAL, "search": {**SEVERAL["search"], **search}})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"run": {**STUDY["run"], "backend": FINE}}, r"run\.backend: must be left out"),
        (
            {"scenarios": [{"name": "one", "run": {"backend": FINE}}]},
            r"scenarios\.one\.run\.backend: must be left out",
        ),
        ({"evaluator": "model0"}, "needs the evaluator simulator"),
    ],
)
def test_a_file_that_contradicts_its_list_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        compile_study({**SEVERAL, **change})
