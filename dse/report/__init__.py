"""Pictures and pages of a study."""

from dse.report.explain import explain_trial
from dse.report.front_table import FrontTable, front_table
from dse.report.optuna_journal import write_journal
from dse.report.page import report_page

__all__ = ["FrontTable", "explain_trial", "front_table", "report_page", "write_journal"]
