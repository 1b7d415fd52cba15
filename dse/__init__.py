"""dse: which machine and which plan train a model best.

Public names are imported when first used, so that ``import dse`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.proof import Effort, Proof, close_gap
    from dse.results.result import StudyResult, load_study
    from dse.run.api import check_study, enumerate_study, run_study
    from dse.study.compile import Study

_HOMES = {
    "Effort": "dse.proof",
    "Proof": "dse.proof",
    "Study": "dse.study.compile",
    "StudyResult": "dse.results.result",
    "check_study": "dse.run.api",
    "close_gap": "dse.proof",
    "enumerate_study": "dse.run.api",
    "load_study": "dse.results.result",
    "run_study": "dse.run.api",
}

__all__ = [
    "Effort",
    "Proof",
    "Study",
    "StudyResult",
    "check_study",
    "close_gap",
    "enumerate_study",
    "load_study",
    "run_study",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
