"""What tables and pictures of a study show: merged columns, numbers of trials, units."""

from pathlib import Path

import numpy as np
import pytest
import yaml

import dse
from dse.report.amounts import show_metric
from dse.report.front_table import front_table
from dse.report.page.axes import axes_of
from dse.report.page.chosen import chosen_rows
from simcore import shipped_folder


def test_with_one_objective_the_picture_counts_trials_from_0(tmp_path: Path) -> None:
    study = yaml.safe_load((shipped_folder("studies") / "p5_vit22b_64.yaml").read_text())
    study["objectives"] = {"iteration_time": "minimise"}
    study.pop("reference_point", None)
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(study))
    result = dse.run_study(file, trials=20, executor="serial")
    chosen = chosen_rows(result)
    axes = {axis.name: axis for axis in axes_of(result, chosen.rows)}
    numbers = [number for number in axes["trial"].values if number is not None]
    assert sorted(numbers) == [row.number for row in result.rows if row.is_feasible]


def test_knobs_of_all_dimensions_share_a_column_in_their_order() -> None:
    result = dse.run_study("p1_cosmic_1024.yaml", trials=40, settle=0, executor="serial")
    table = front_table(result)
    column = table.columns.index("bandwidth")
    for index, row in zip(result.front, table.rows[: len(result.front)], strict=True):
        design = result.rows[index].design
        texts = row[column].removesuffix(" GB/s").split("/")
        dimensions = [design[f"platform.dimensions[{slot}].bandwidth"] for slot in range(4)]
        assert [float(text) * 1e9 for text in texts] == pytest.approx(np.array(dimensions, float))


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("exposed_pipeline_s", 0.25, ("exposed pipeline", "250 ms")),
        ("footprint_bytes", 2.5 * 2**30, ("footprint", "2.5 GiB")),
        ("network_cost_usd", 3e6, ("network cost", "3 MUSD")),
        ("mfu", 0.5, ("mfu", "0.5")),
    ],
)
def test_the_name_of_a_metric_says_its_unit(
    name: str, value: float, shown: tuple[str, str]
) -> None:
    assert show_metric(name, value) == shown
