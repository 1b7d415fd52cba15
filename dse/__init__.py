"""dse: which machine and which plan train a model best.

Public names are imported when first used, so that ``import dse`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.config import Study
    from dse.gap import Effort, Proof, close_gap
    from dse.result import StudyResult, load_study
    from dse.study import check_study, enumerate_study, run_study

_HOMES = {
    "Effort": "dse.gap",
    "Proof": "dse.gap",
    "Study": "dse.config",
    "StudyResult": "dse.result",
    "check_study": "dse.study",
    "close_gap": "dse.gap",
    "enumerate_study": "dse.study",
    "load_study": "dse.result",
    "run_study": "dse.study",
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
