"""Designs reach the bounds as rows, columns, frames or integer codes, with the same answer."""

import numpy as np
import pandas as pd
import pytest
from sixteen_a100 import TABLE

from simcore import ConfigError, DesignBounds, RunTemplate, footprint, footprints, lower_bounds

BANDWIDTH = "platform.dimensions[0].bandwidth"
ROWS = [
    {"plan.tp": 2, "plan.dp": 8, "plan.pp": 1, BANDWIDTH: "10 GB/s"},
    {"plan.tp": 4, "plan.dp": 2, BANDWIDTH: "20 GB/s"},
    {"plan.tp": 4, "plan.dp": 4, BANDWIDTH: "20 GB/s"},
]


def test_rows_columns_frames_and_codes_give_the_same_bounds() -> None:
    template = RunTemplate.from_table(TABLE)
    expected = lower_bounds(template, ROWS)
    assert np.isfinite(expected[:2]).all()
    frame = pd.DataFrame(ROWS).add_prefix("params.")
    frame[f"params.{BANDWIDTH}"] = [10e9, 20e9, 20e9]
    assert np.array_equal(lower_bounds(template, frame), expected)
    bounds = DesignBounds(template, {"plan.tp": [2, 4], "plan.dp": [2, 4, 8], "plan.pp": [1]})
    codes = {"plan.tp": [0, 1], "plan.dp": [2, 0], "plan.pp": [0, -1]}
    columns = {path: np.array(column) for path, column in codes.items()}
    assert (bounds.times_s(columns) <= expected[:2]).all(), "300 GB/s are faster"


def test_a_plan_for_other_npus_is_bounded_by_infinity() -> None:
    assert np.isinf(lower_bounds(TABLE, ROWS)[2])


def test_footprints_are_those_of_single_plans_and_infinite_where_heads_do_not_divide() -> None:
    template = RunTemplate.from_table(TABLE)
    run = template.with_values(ROWS[0])
    found = footprints(template, [*ROWS, {"plan.tp": 5}])
    assert found[0] == footprint(run.workload, run.plan).total_bytes
    assert np.isinf(found[3])


def test_what_is_no_set_of_designs_is_told_so() -> None:
    with pytest.raises(ConfigError, match="must be a list of designs"):
        lower_bounds(TABLE, 3)
