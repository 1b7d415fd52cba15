"""Bounds and footprints of designs that are listed with the values that they set."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.design_bounds import DesignBounds
from simcore.bounds.design_columns import DesignColumns
from simcore.config import RunTemplate

Floats = NDArray[np.float64]


def lower_bounds(
    run: RunTemplate | Mapping[str, Any], designs: object, *, within_capacity: bool = False
) -> Floats:
    """Lower bounds of the iteration times of many designs, in seconds.

    Args:
        run: The run file (its table, or a template) that the designs change.
        designs: What they change by path: a list of dicts, a mapping of columns, or a DataFrame.
        within_capacity: Bound those designs alone whose links carry no more than they can, by what
            their collectives send too; see ``DesignBounds.times_s``.

    Returns:
        (N,) float64, never above ``simulate``; infinite where a design breaks a rule.

    Raises:
        ConfigError: A path or a value is not allowed in a run file.
    """
    columns = DesignColumns.of(designs)
    bounds = DesignBounds(_template(run), columns.choices)
    return bounds.times_s(columns.codes, within_capacity=within_capacity)


def footprints(run: RunTemplate | Mapping[str, Any], designs: object) -> Floats:
    """Bytes that the fullest NPU of each design needs; arguments as for ``lower_bounds``.

    Returns:
        (N,) float64, equal to ``footprint``; infinite where the plan does not fit the workload.
    """
    columns = DesignColumns.of(designs)
    return DesignBounds(_template(run), columns.choices).footprint_bytes(columns.codes)


def _template(run: RunTemplate | Mapping[str, Any]) -> RunTemplate:
    return run if isinstance(run, RunTemplate) else RunTemplate.from_table(dict(run))
