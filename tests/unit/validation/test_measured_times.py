"""The measured time of a row, also where its publisher gave a rate."""

from pathlib import Path

import pytest

from simcore import ConfigError
from simcore.validation.report import collective_s, training_s, write_report
from simcore.validation.rows import MeasuredRow

# MaxText on 64 TPU v5p: 8,192 wide, 32 layers; nominally 32e9 parameters
RATE = {
    "id": "one",
    "model": "maxtext-32B",
    "arch": "llama-mha",
    "layers": "32",
    "hidden": "8192",
    "heads": "64",
    "kv_heads": "64",
    "ffn_hidden": "28672",
    "mlp": "swiglu",
    "vocab": "32000",
    "seq_len": "2048",
    "global_batch": "384",
    "num_gpus": "64",
    "tflops_per_gpu": "328",
    "flops_convention": "model FLOPs / 459 TFLOP/s peak",
}
PARAMETERS = 32 * (4 * 8192**2 + 3 * 8192 * 28672) + 32000 * 8192
TOKENS = 384 * 2048


def row(**cells: str) -> MeasuredRow:
    return MeasuredRow({**RATE, **cells}, "table.csv:2")


def test_a_published_time_is_taken_as_it_is() -> None:
    assert training_s(row(iter_time_s="7.5")) == 7.5


def test_a_rate_in_model_flop_stands_for_the_time_of_an_iteration() -> None:
    products, scores = 6 * TOKENS * PARAMETERS, 12 * TOKENS * 32 * 2048 * 8192
    assert training_s(row()) == pytest.approx((products + scores) / (328e12 * 64))


@pytest.mark.parametrize(
    "cells",
    [
        {"tflops_per_gpu": ""},
        {"flops_convention": "hardware FLOPs incl. full recompute"},
        {"flops_convention": ""},
        {"layers": "", "model": "no such model"},
        {"global_batch": ""},
        {"seq_len": "131072"},  # most FLOP are scores, of which half may have been counted
    ],
)
def test_what_tells_no_time_is_not_compared(cells: dict[str, str]) -> None:
    assert training_s(row(**cells)) is None


@pytest.mark.parametrize("text", ["-3", "nan", "inf", "long"])
@pytest.mark.parametrize("column", ["iter_time_s", "tflops_per_gpu", "num_gpus"])
def test_what_no_measurement_can_be_is_an_error(column: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"table.csv:2: {column}: must be .* but got .*{text}"):
        training_s(row(**{column: text}))
    with pytest.raises(ConfigError, match=r"table.csv:2: time_us: must be"):
        collective_s(MeasuredRow({"id": "one", "time_us": text}, "table.csv:2"))


def test_a_report_of_nothing_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,iter_time_s,time_us\none,,\n")
    with pytest.raises(ConfigError, match=r"table.csv: must hold a row with a measured time"):
        write_report(table, table, tmp_path / "docs", tmp_path / "configs")
    assert list(tmp_path.iterdir()) == [table]


def test_the_time_of_a_collective_is_in_microseconds_in_the_table() -> None:
    assert collective_s(MeasuredRow({"id": "one", "time_us": "250"}, "table.csv:2")) == 250e-6
    assert collective_s(MeasuredRow({"id": "one", "time_us": ""}, "table.csv:2")) is None
