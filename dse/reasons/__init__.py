"""Reasons: what the time of a design goes to, and what would change it."""

from dse.reasons.explanation import Explanation, explain_design, explanation_data
from dse.reasons.what_if import TELLING, WhatIf

__all__ = ["TELLING", "Explanation", "WhatIf", "explain_design", "explanation_data"]
