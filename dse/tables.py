"""Trials as tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.config import Study
from dse.trials import Trial

if TYPE_CHECKING:
    import pandas as pd


def trials_frame(study: Study, trials: Sequence[Trial]) -> "pd.DataFrame":
    """One row per trial, in ask order.

    Columns: ``number, state, params.*, objectives.*, constraints.*, metrics.*, fidelity,
    duration_s, worker, reason, repeats``; quantities in base units, missing where a knob has no
    meaning or nothing was evaluated.
    """
    import pandas as pd

    columns: dict[str, Any] = {
        "number": pd.array([t.number for t in trials], dtype="int64"),
        "state": pd.array([t.state for t in trials], dtype="str"),
    }
    for name in study.space.parameters:
        columns[f"params.{name}"] = _column([t.design.get(name) for t in trials])
    for name in study.goals.objectives:
        columns[f"objectives.{name}"] = _floats([t.evaluation.objectives.get(name) for t in trials])
    for name in _names([list(t.evaluation.constraints) for t in trials]):
        values = [t.evaluation.constraints.get(name) for t in trials]
        columns[f"constraints.{name}"] = _floats(values)
    for name in _names([list(t.evaluation.metrics) for t in trials]):
        columns[f"metrics.{name}"] = _floats([t.evaluation.metrics.get(name) for t in trials])
    columns["fidelity"] = pd.array([t.evaluation.fidelity for t in trials], dtype="str")
    columns["duration_s"] = _floats([t.evaluation.duration_s for t in trials])
    columns["worker"] = pd.array([t.worker for t in trials], dtype="str")
    columns["reason"] = pd.array([t.evaluation.reason for t in trials], dtype="str")
    columns["repeats"] = pd.array([t.repeats for t in trials], dtype="Int64")
    return pd.DataFrame(columns)


def _names(lists: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))


def _floats(values: Sequence[float | None]) -> Any:
    import pandas as pd

    return pd.array([float("nan") if v is None else float(v) for v in values], dtype="float64")


def _column(values: Sequence[Any]) -> Any:
    """An array of one type: flags, counts, numbers or texts."""
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return pd.array(values, dtype="boolean")
    if kinds <= {int}:
        return pd.array(values, dtype="Int64")
    if kinds <= {int, float}:
        return _floats(values)
    return pd.array([None if v is None else str(v) for v in values], dtype="str")
