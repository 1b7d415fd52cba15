"""Load tests of inference engines: how near predictions come, and that they err the right way."""

import csv
from pathlib import Path
from statistics import median

import pytest

from simcore.validation.score import write_serving
from simcore.validation.served.predict import predict_serving

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "serving" / "requests.csv"
pytestmark = pytest.mark.skipif(not GOLDEN.is_file(), reason="needs shared/golden/serving")
EVERY = 6
"""Every so many rows are predicted, which keeps all accelerators, models and engines."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Rows with their predictions; the measured columns are blank while these are made."""
    folder = tmp_path_factory.mktemp("served")
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        measured = list(csv.DictReader(file))[::EVERY]
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, measured[0])
        writer.writeheader()
        writer.writerows({**row, "ttft_ms": "", "tpot_ms": ""} for row in measured)
    write_serving(folder / "out.csv", predict_serving(folder / "rows.csv"))
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        return list(zip(measured, csv.DictReader(file), strict=True))


def errors(rows: list[tuple[dict[str, str], dict[str, str]]], **like: str) -> list[float]:
    """Predicted over measured times per output token, of rows like this."""
    return [
        float(found["tpot_ms"]) / float(row["tpot_ms"])
        for row, found in rows
        if found["status"] == "ok" and all(row[key] == value for key, value in like.items())
    ]


def test_nine_of_ten_rows_are_answered_and_the_others_say_why(
    rows: list[tuple[dict[str, str], dict[str, str]]],
) -> None:
    answered = [found["status"] == "ok" for _, found in rows]
    assert sum(answered) >= 0.9 * len(rows)
    assert all(found["reason"] for _, found in rows if found["status"] != "ok")


@pytest.mark.parametrize(
    ("backend", "within"), [("vllm", 0.14), ("sglang", 0.20), ("trtllm", 0.20)]
)
def test_one_pool_is_predicted_without_a_fit(
    rows: list[tuple[dict[str, str], dict[str, str]]], backend: str, within: float
) -> None:
    """Kernels are measured one by one; nothing is fitted to these rows."""
    found = errors(rows, mode="agg", backend=backend)
    assert len(found) > 30
    assert median(abs(ratio - 1) for ratio in found) < within


def test_the_band_holds_four_of_five(rows: list[tuple[dict[str, str], dict[str, str]]]) -> None:
    inside = [
        float(found["tpot_low_ms"]) <= float(row["tpot_ms"]) <= float(found["tpot_high_ms"])
        for row, found in rows
        if found["status"] == "ok"
    ]
    assert 0.75 <= sum(inside) / len(inside) <= 0.90
