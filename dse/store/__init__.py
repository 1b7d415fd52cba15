"""The folder of a study: one SQLite file that is the truth, and files that are exports of it."""

from dse.store.errors import STORE, StoreError
from dse.store.folder import PARETO, REPORT, STUDY, SUMMARY, TRIALS, StudyFolder

__all__ = [
    "PARETO",
    "REPORT",
    "STORE",
    "STUDY",
    "SUMMARY",
    "TRIALS",
    "StoreError",
    "StudyFolder",
]
