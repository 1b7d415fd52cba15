"""Published recipes of load tests: what they add to rows, and what they leave as it is."""

import pytest

from simcore.validation.bands.serving import kind_of_test
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.predict import ServedPredictor
from simcore.validation.served.recipes import completed

POOLS = {
    **{"id": "x", "mode": "disagg", "model": "deepseek-ai/DeepSeek-R1", "system": "gb200"},
    **{"backend": "trtllm", "backend_version": "0.8.1.post2", "gemm_format": "nvfp4"},
    **{"moe_format": "nvfp4", "input_len": "1024", "output_len": "1024", "num_gpus": "36"},
    **{"prefill_tp_size": "4", "prefill_moe_ep_size": "4"},
    **{"decode_tp_size": "32", "decode_moe_tp_size": "8", "decode_moe_ep_size": "4"},
}
"""One worker that reads and 32 accelerators that answer, told as tables of results do."""


def row_of(**cells: str) -> MeasuredRow:
    return MeasuredRow(cells=POOLS | cells, at="rows.csv:2")


def test_a_recipe_tells_workers_copies_of_attention_and_guesses() -> None:
    """180 requests: the recipe of four sequences on each of 32 copies, with three guesses."""
    row = completed(row_of(concurrency="180"))
    assert row.text("speculation") == "3"
    assert row.text("decode_max_batch") == "4"
    assert (row.text("decode_tp_size"), row.text("decode_attention_dp_size")) == ("1", "32")
    assert (row.text("decode_moe_tp_size"), row.text("decode_moe_ep_size")) == ("1", "32")
    assert row.text("prefill_num_workers") == "1"


@pytest.mark.parametrize(
    "cells",
    [
        {"concurrency": "181"},
        {"concurrency": "180", "backend_version": "0.8.1"},
        {"concurrency": "180", "decode_tp_size": "16", "decode_moe_tp_size": "4"},
        {"concurrency": "180", "speculation": "no"},
        {"concurrency": "180", "model": "Foo-9B"},
        {"concurrency": "180", "mode": "agg", "tp": "36"},
    ],
)
def test_a_row_that_a_recipe_contradicts_stays_as_it_is(cells: dict[str, str]) -> None:
    row = row_of(**cells)
    assert completed(row) is row


def test_two_tests_that_agree_in_all_columns_are_predicted_by_their_mean() -> None:
    """With 24 requests on groups of eight, recipes with and without guesses agree."""
    cells = {"concurrency": "24", "decode_tp_size": "8", "decode_moe_tp_size": "2"}
    row = completed(row_of(**cells))
    assert row.text("speculation") == "3 or no"
    assert kind_of_test(row) == "routed experts, guesses untold"
    predictor = ServedPredictor()
    mean, *sides = (
        predictor.predict(MeasuredRow(cells=row.cells | {"speculation": told}, at="")).tpot_s
        for told in ("3 or no", "3", "no")
    )
    assert mean
    assert all(sides)
    assert mean**2 == pytest.approx((sides[0] or 0) * (sides[1] or 0))
    assert kind_of_test(completed(row_of(concurrency="180"))) == "routed experts"


def test_a_whole_description_takes_no_guesses_from_recipes() -> None:
    workers = {"prefill_num_workers": "1", "decode_num_workers": "1"}
    assert completed(row_of(concurrency="180", **workers)).text("speculation") == ""


def test_requests_beyond_the_largest_batch_wait() -> None:
    """128 of 180 requests are answered; the others wait, and more of them change no step."""
    predictor = ServedPredictor()
    row = completed(row_of(concurrency="180")).cells
    some, more = (
        predictor.predict(MeasuredRow(cells=row | {"concurrency": number}, at=""))
        for number in ("180", "360")
    )
    assert some.tpot_s == more.tpot_s
    assert some.ttft_s
    assert more.ttft_s
    assert more.ttft_s > 2 * some.ttft_s
