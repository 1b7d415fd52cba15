"""Layers on systolic arrays take what SCALE-Sim v2 reports, in every column.

Source: golden/systolic, made with SCALE-Sim v2; all of it is deterministic.
"""

import csv
from io import StringIO
from pathlib import Path

import pytest

from simcore.systolic.table import OUTPUTS, predict, read_cases

ROWS = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "systolic" / "layers.csv"
pytestmark = pytest.mark.skipif(not ROWS.is_file(), reason="golden systolic rows are not here")


def test_every_column_of_every_row_is_scale_sims() -> None:
    with ROWS.open(newline="") as file:
        expected = list(csv.DictReader(file))
    found = list(csv.DictReader(StringIO(predict(read_cases(ROWS)).text)))
    assert [row["id"] for row in found] == [row["id"] for row in expected]
    for mine, theirs in zip(found, expected, strict=True):
        numbers = {name: float(mine[name]) for name in OUTPUTS}
        wanted = {name: float(theirs[name]) for name in OUTPUTS}
        assert numbers == pytest.approx(wanted, rel=1e-6, abs=1e-6), theirs["id"]
