"""Several fidelities in one study: who is judged again, what decides, and how far they agree."""

from dse.fidelity.compare import (
    compared_rows,
    fidelity_summary,
    front_fidelity,
    refined_rows,
    searched_rows,
)
from dse.fidelity.promote import promotion
from dse.fidelity.told import fidelity_lines

__all__ = [
    "compared_rows",
    "fidelity_lines",
    "fidelity_summary",
    "front_fidelity",
    "promotion",
    "refined_rows",
    "searched_rows",
]
