"""Reasons: what the time of a design goes to, and what would change it."""

from dse.reasons.explanation import Explanation, explain_design, explanation_data
from dse.reasons.what_if import WhatIf

__all__ = ["Explanation", "WhatIf", "explain_design", "explanation_data"]
