"""Whole batches and full load: how near predictions come, and that they err the right way."""

import csv
from collections import defaultdict
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean, median

import pytest

from simcore.validation.score import write_batches
from simcore.validation.served.accelerators import NAMED_ENGINES
from simcore.validation.served.batches import predict_batches

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "serving" / "batches.csv"
pytestmark = pytest.mark.skipif(not GOLDEN.is_file(), reason="needs shared/golden/serving")
EVERY = 8
"""Every so many rows are predicted, which keeps all accelerators and most models."""

MEASURED = ("ttft_ms", "tpot_ms", "tok_s_per_gpu", "notes")
Rows = list[tuple[dict[str, str], dict[str, str]]]


def measured_rows() -> list[dict[str, str]]:
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))[::EVERY]


def predicted(measured: list[dict[str, str]], folder: Path) -> Rows:
    """Rows with their predictions; the measured columns are blank while these are made."""
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, measured[0])
        writer.writeheader()
        writer.writerows({**row, **dict.fromkeys(MEASURED, "")} for row in measured)
    write_batches(folder / "out.csv", predict_batches(folder / "rows.csv"))
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        found = list(zip(measured, csv.DictReader(file), strict=True))
    return [(row, mine) for row, mine in found if row["tok_s_per_gpu"]]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return predicted(measured_rows(), tmp_path_factory.mktemp("batches"))


def ratio(row: dict[str, str], mine: dict[str, str]) -> float:
    """Predicted over measured throughput."""
    return float(mine["tok_s_per_gpu"]) / float(row["tok_s_per_gpu"])


def cells(rows: Rows) -> dict[tuple[str, str], list[float]]:
    """Absolute errors by model and system."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, mine in rows:
        if mine["status"] == "ok":
            found[row["model"], row["system"]].append(abs(ratio(row, mine) - 1))
    return found


def test_nearly_all_rows_are_answered_and_the_others_say_why(rows: Rows) -> None:
    answered = [mine["status"] == "ok" for _, mine in rows]
    assert sum(answered) >= 0.97 * len(rows)
    assert all(mine["reason"] for _, mine in rows if mine["status"] != "ok")


def test_cells_of_model_and_system_are_near(rows: Rows) -> None:
    """A dozen values of engines stand for 1,600 rows; none is a model's or a source's."""
    errors = cells(rows)
    assert len(errors) > 40
    assert fmean(median(found) for found in errors.values()) < 0.14


@pytest.mark.parametrize(
    ("system", "within"),
    [("GH200", 0.10), ("Gaudi2", 0.09), ("H100", 0.16), ("MI300X", 0.14), ("B200", 0.14)],
)
def test_an_accelerator_with_tables_of_kernels_or_without_is_near(
    rows: Rows, system: str, within: float
) -> None:
    found = [error for (_, on), errors in cells(rows).items() if on == system for error in errors]
    assert median(found) < within


def test_the_machine_that_answers_more_is_told(rows: Rows) -> None:
    """Of pairs that differ in the accelerator alone, by a tenth or more."""
    told = ("model", "num_gpus", "batch", "input_len", "output_len", "precision")
    groups: dict[tuple[str, ...], Rows] = defaultdict(list)
    for row, mine in rows:
        if mine["status"] == "ok":
            groups[tuple(row[column] for column in told)].append((row, mine))
    right = []
    for group in groups.values():
        for (a, mine_a), (b, mine_b) in combinations(group, 2):
            rates = float(a["tok_s_per_gpu"]), float(b["tok_s_per_gpu"])
            if a["system"] != b["system"] and max(rates) >= 1.1 * min(rates):
                mine_faster = float(mine_a["tok_s_per_gpu"]) > float(mine_b["tok_s_per_gpu"])
                right.append(mine_faster == (rates[0] > rates[1]))
    assert len(right) >= 20
    assert fmean(right) > 0.85


def test_the_band_holds_four_of_five(rows: Rows) -> None:
    inside = [
        float(mine["tok_s_low"]) <= float(row["tok_s_per_gpu"]) <= float(mine["tok_s_high"])
        for row, mine in rows
        if mine["status"] == "ok"
    ]
    assert 0.74 <= fmean(inside) <= 0.88


def test_an_engine_that_is_named_is_predicted_nearer(rows: Rows, tmp_path: Path) -> None:
    named = []
    for row in measured_rows():
        notes = {part.strip().lower() for part in row["notes"].split(";")}
        known = notes & NAMED_ENGINES.keys()
        if known and row["system"] in ("A100", "H100"):
            named.append({**row, "backend": known.pop()})
    mine = cells(predicted(named, tmp_path))
    ids = {row["id"] for row in named}
    blind = cells([(row, found) for row, found in rows if row["id"] in ids])
    assert len(named) > 50
    errors, blind_errors = (list(chain(*found.values())) for found in (mine, blind))
    assert median(errors) < 0.85 * median(blind_errors)
