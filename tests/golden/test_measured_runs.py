"""Predictions of published runs stay within the errors that the product states."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.files.resources import shipped_folder
from simcore.validation.bands.classes import TRAINING as BANDS
from simcore.validation.bands.networks import Networks
from simcore.validation.bands.shipped import FOLDER
from simcore.validation.collectives import predict_collectives
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import collective_s, training_s
from simcore.validation.rows import MeasuredRow
from simcore.validation.score import Compared, compare, errors_by, ranking
from simcore.validation.training import TrainingPredictor

TABLES = Path(__file__).parents[3] / "shared" / "golden" / "hardware"
TRAINING, COLLECTIVES = TABLES / "llm_training.csv", TABLES / "collectives.csv"
pytestmark = pytest.mark.skipif(
    not TRAINING.exists(), reason="the published measurements are not on this machine"
)


@pytest.fixture(scope="module")
def trained() -> list[Compared]:
    rows = list(MeasuredRow.all_of(TRAINING))
    predictor = TrainingPredictor()
    return compare(rows, [predictor.predict(row) for row in rows], training_s)


def test_the_mean_error_over_sources_is_below_a_tenth(trained: list[Compared]) -> None:
    means = [e.mean_absolute for e in errors_by(trained, "source") if e.covered]
    assert len(means) >= 20
    assert sum(means) / len(means) < 0.1


def test_no_source_with_ten_rows_or_more_is_off_by_a_fifth(trained: list[Compared]) -> None:
    large = [e for e in errors_by(trained, "source") if e.covered >= 10]
    assert len(large) >= 10
    assert {e.name: round(e.mean_absolute, 3) for e in large if e.mean_absolute > 0.2} == {}


def test_runs_of_one_replica_with_all_settings_published_are_within_4_percent(
    trained: list[Compared],
) -> None:
    (known,) = [e for e in errors_by(trained, "source") if e.name == "Korthikanti 2022"]
    assert known.covered >= 6
    assert known.mean_absolute <= 0.04
    assert known.largest <= 0.09


def test_layouts_are_ranked_far_better_than_by_chance(trained: list[Compared]) -> None:
    assert ranking(trained).spearman > 0.85


def test_the_shipped_networks_are_those_of_the_measured_runs(trained: list[Compared]) -> None:
    machines = Machines()
    runs = [run_of(one.row, machines) for one in trained if one.predicted_s is not None]
    shipped = Networks.read(shipped_folder("configs") / FOLDER / BANDS.networks)
    found = {(one.npu, one.side, one.topology): one for one in shipped.measured}
    assert len(found) > 20
    for one in Networks.of(run.platform for run in runs).measured:
        known = found[one.npu, one.side, one.topology]
        assert known.least_bytes_per_s <= 1.001 * one.least_bytes_per_s
        assert known.most_bytes_per_s >= 0.999 * one.most_bytes_per_s
        assert known.runs >= one.runs


def test_large_collectives_are_predicted_within_a_tenth() -> None:
    rows = list(MeasuredRow.all_of(COLLECTIVES))
    compared = compare(rows, list(predict_collectives(COLLECTIVES)), collective_s)
    large = [one for one in compared if (one.row.number("size_bytes") or 0) >= 1 << 20]
    for errors in errors_by(large, "source"):
        if errors.covered >= 10:
            assert errors.mean_absolute < 0.1, errors.name


@pytest.fixture
def blank(tmp_path: Path) -> Path:
    """Ten rows with their measured columns emptied."""
    path = tmp_path / "rows.csv"
    with TRAINING.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:400:40]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for row in rows:
            hidden = ("iter_time_s", "tflops_per_gpu", "mfu_pct", "tokens_per_s", "notes")
            writer.writerow({k: "" if k in hidden else v for k, v in row.items()})
    return path


def test_every_row_gets_one_line_and_measured_columns_may_be_blank(
    blank: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    done = CliRunner().invoke(cli, ["validate", "llm", "--rows", str(blank), "--out", str(out)])
    assert done.exit_code == 0, done.output
    with out.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    columns = ["id", "status", "reason", "iter_time_s", "memory_bytes"]
    assert list(lines[0]) == [*columns, "iter_time_low_s", "iter_time_high_s", "trust"]
    assert len(lines) == 10
    predictor = TrainingPredictor()
    for line, row in zip(lines, MeasuredRow.all_of(TRAINING), strict=False):
        if line["id"] == row.id and line["status"] == "ok":
            assert float(line["iter_time_s"]) == pytest.approx(predictor.predict(row).time_s)
