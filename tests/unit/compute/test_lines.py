"""Lines of measured points: kept where they are, and rising between them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simcore.compute.tables.lines import Lines
from simcore.compute.tables.store import shipped_tables

PLACES = np.array([[x, y, 3.0] for y in (1.0, 2.0, 4.0) for x in range(6)])


@given(st.lists(st.floats(0.01, 3), min_size=18, max_size=18), st.integers(0, 2**32 - 1))
def test_values_that_rise_from_point_to_point_rise_between_them(
    steps: list[float], seed: int
) -> None:
    values = np.cumsum(np.array(steps).reshape(3, 6), axis=1)
    lines = Lines(PLACES, values.ravel())
    assert np.allclose(lines.at(PLACES), values.ravel())
    along = np.sort(np.random.default_rng(seed).uniform(-1, 7, 20))
    wanted = np.stack([along, np.full(20, 2.7), np.full(20, 3.0)], axis=1)
    assert (np.diff(lines.at(wanted)) >= -1e-12).all()


def test_places_off_every_sheet_or_beyond_its_lines_have_no_value() -> None:
    lines = Lines(PLACES, PLACES[:, 0])
    assert np.isnan(lines.at(np.array([[1.0, 2.0, 5.0], [1.0, 0.5, 3.0], [1.0, 4.5, 3.0]]))).all()


def test_more_rows_for_the_same_experts_take_no_less_time() -> None:
    """Eight experts of DeepSeek-V3 in 4 bits lie between lines of four and sixteen."""
    table = shipped_tables("gb200").find("experts", "tensorrt_llm", "nvfp4")
    assert table is not None
    rows = np.exp2(np.linspace(-4, 8, 49))
    at = {"rows": rows, "held": 0 * rows + 8, "hidden": 0 * rows + 7168, "inner": 0 * rows + 2048}
    times_us, _ = table.times_us(at)
    assert (np.diff(times_us) >= -0.02 * times_us[1:]).all()
