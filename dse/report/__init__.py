"""Pictures and pages of a study."""

from dse.report.explain import explain_trial
from dse.report.front_table import FrontTable, front_table
from dse.report.measured import front_bands
from dse.report.optuna_journal import chosen_numbers, write_journal
from dse.report.page import report_page

__all__ = [
    "FrontTable",
    "chosen_numbers",
    "explain_trial",
    "front_bands",
    "front_table",
    "report_page",
    "write_journal",
]
