"""Errors, rankings and bands against cases worked out by hand."""

import math

import pytest

from simcore import load_run, shipped_folder
from simcore.validation.band import MeasuredRuns, MeasuredTable, validated_band
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow
from simcore.validation.score import Prediction, compare, errors_by, ranking

GPT = {
    **{"id": "one", "model": "gpt-20B", "arch": "gpt", "layers": "40", "hidden": "6144"},
    **{"heads": "48", "vocab": "51200", "seq_len": "2048", "global_batch": "1024"},
    **{"precision": "fp16", "gpu": "A100-80GB-SXM", "num_gpus": "256", "tp": "8", "pp": "2"},
}


def _pairs(
    *pairs: tuple[float, float | None], source: str = "a"
) -> tuple[list[MeasuredRow], list[Prediction]]:
    rows, predictions = [], []
    for number, (measured, predicted) in enumerate(pairs):
        cells = {"id": f"a{number}", "source": "a", "iter_time_s": str(measured)}
        rows.append(MeasuredRow(cells, f"t:{number}"))
        status = "ok" if predicted is not None else "unsupported"
        predictions.append(Prediction(id=f"a{number}", status=status, time_s=predicted))
    return rows, predictions


def test_errors_are_relative_to_what_was_measured() -> None:
    rows, predictions = _pairs((10.0, 11.0), (10.0, 7.0), (4.0, None))
    (errors,) = errors_by(compare(rows, predictions, training_s), "source")
    assert (errors.rows, errors.covered) == (3, 2)
    assert math.isclose(errors.mean_absolute, 0.2)
    assert math.isclose(errors.bias, -0.1)
    assert math.isclose(errors.largest, 0.3)


def test_a_perfect_order_has_rank_correlation_one_and_costs_nothing() -> None:
    rows, predictions = _pairs(*[(float(i), 3.0 * i) for i in range(1, 6)])
    order = ranking(compare(rows, predictions, training_s))
    assert (order.groups, order.exact) == (1, 1)
    assert math.isclose(order.spearman, 1.0)
    assert order.extra_time == 0


def test_a_tie_at_the_top_counts_as_the_slowest_of_those_that_tie() -> None:
    rows, predictions = _pairs((1.0, 1.0), (2.0, 1.0), (3.0, 3.0), (4.0, 4.0), (5.0, 5.0))
    order = ranking(compare(rows, predictions, training_s))
    assert math.isclose(order.extra_time, 1.0)
    assert math.isclose(order.least_extra_time, 1.0)


def test_the_least_extra_time_is_that_of_the_best_layout_told_apart() -> None:
    rows, predictions = _pairs((1.0, 2.0), (4.0, 2.0), (3.0, 3.0), (3.5, 1.0), (5.0, 5.0))
    order = ranking(compare(rows, predictions, training_s))
    assert math.isclose(order.extra_time, 2.5)
    assert math.isclose(order.least_extra_time, 2.0)


def test_rankings_need_five_layouts() -> None:
    rows, predictions = _pairs((1.0, 1.0), (2.0, 2.0))
    assert ranking(compare(rows, predictions, training_s)).groups == 0


def _measured(source: str, error: float, **changes: object) -> MeasuredRuns:
    values: dict[str, object] = {
        "npu": "a100_80",
        "number_format": "16-bit",
        "kind": "dense",
        "source": source,
        "model": "gpt-20B",
        "parameters": 20_000_000_000,
        "npus": 256,
        "rows": 1,
        "error": error,
    }
    return MeasuredRuns(**{**values, **changes})  # type: ignore[arg-type]


RUN = run_of(MeasuredRow(GPT, "t:1"), Machines())


def test_the_band_holds_four_of_five_runs_and_names_the_nearest() -> None:
    runs = [_measured("a", error / 100) for error in (1, 2, 3, 4, 50)]
    runs.append(_measured("a", 0.01, model="gpt-1T", parameters=10**12, npus=3072))
    text = MeasuredTable(tuple(runs)).band(RUN)
    assert text.startswith("±4% (6 measured runs on a100_80, 16-bit, dense;")
    assert "nearest: gpt-20B on 256" in text


def test_sources_weigh_alike_in_the_band() -> None:
    many = [_measured("a", 0.01) for _ in range(1000)]
    few = [_measured("b", 0.3)]
    assert MeasuredTable((*many, *few)).band(RUN).startswith("±30%")


def test_what_was_never_measured_is_said_to_be_so() -> None:
    other = _measured("a", 0.1, npu="h100_80")
    assert "not validated here" in MeasuredTable((other,)).band(RUN)
    narrow = _measured("a", 0.1, number_format="8-bit")
    assert "8-bit, on 256" in MeasuredTable((narrow,)).band(RUN)


def test_the_shipped_table_has_a_band_for_gpt_on_a100() -> None:
    assert validated_band(RUN).startswith("±")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("dlrm_2p6t_256_h100", "dlrm"), ("t5_11b_1024_tpu_v3", "encoder-decoder")],
)
def test_no_band_of_transformers_is_told_for_another_kind(name: str, kind: str) -> None:
    run = load_run(shipped_folder("configs") / "runs" / f"{name}.yaml")
    assert validated_band(run).endswith(f"no measured run of a workload of this kind ({kind})")


@pytest.mark.parametrize(
    ("change", "choice"),
    [
        ({"plan.schedule": "1f1b_overlapped"}, "plan.schedule: 1f1b_overlapped"),
        ({"plan.updates.kind": "gossip"}, "plan.updates: gossip"),
        ({"plan.cp_kind": "ring"}, "plan.cp_kind: ring"),
    ],
)
def test_no_band_is_told_for_choices_that_no_measured_run_made(
    change: dict[str, str], choice: str
) -> None:
    file = shipped_folder("configs") / "runs" / "gpt3_175b_1024_a100.yaml"
    assert validated_band(load_run(file)).startswith("±")
    assert validated_band(load_run(file, change)) == (
        f"not validated here: no measured run with {choice}"
    )


@pytest.mark.parametrize("measured", ["", "0"])
def test_rows_without_a_measured_time_are_not_compared(measured: str) -> None:
    rows = [MeasuredRow({"id": "x", "iter_time_s": measured}, "t:1")]
    assert compare(rows, [], training_s) == []
