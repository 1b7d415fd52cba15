"""The folder of a study: one SQLite file that is the truth, and files that are exports of it."""

from dse.store.errors import StoreError
from dse.store.folder import PARETO, REPORT, STORE, STUDY, SUMMARY, TRIALS, StudyFolder

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
