"""Errors, rankings and bands against cases worked out by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

from simcore import ConfigError, load_run, prediction_band, shipped_folder
from simcore.validation.bands.classes import TRAINING
from simcore.validation.bands.quantile import LIKENESS, independent
from simcore.validation.bands.residuals import Group, grouped, read_groups, write_groups
from simcore.validation.bands.shipped import Judged
from simcore.validation.bands.spread import Constants, Spreads
from simcore.validation.bands.training import UNFITTED, training_evidence
from simcore.validation.bands.width import PULL
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


RUN = run_of(MeasuredRow(GPT, "t:1"), Machines())
CONSTANTS = Constants(
    base=math.log(0.1),
    effects={
        "kind": {"dense": 0.2},
        "number_format": {"16-bit": 0.1, "8-bit": 0.3},
        "npu": {"a100_80": -0.1},
    },
    known=0.8,
    few=0.5,
    growth=0.05,
)
LEVELS_SAY = 0.1 * math.exp(0.2 + 0.1 - 0.1)
"""How far a band reaches at the class of ``RUN`` where nobody ran its model."""


def _judged(*groups: Group) -> Judged:
    return Judged(Spreads(TRAINING, groups), CONSTANTS)


def _group(*residuals: float, source: str = "a", **changes: object) -> Group:
    values: dict[str, object] = {
        "levels": ("dense", "16-bit", "a100_80", "pipeline"),
        "source": source,
        "model": "gpt-20B",
        "parameters": RUN.workload.model.parameters,
        "npus": 256,
        "residuals": residuals,
    }
    return Group(**{**values, **changes})  # type: ignore[arg-type]


def test_a_band_of_a_new_pair_reaches_as_far_as_its_levels_say() -> None:
    other = _group(0.5, model="gpt-80B", parameters=4 * _group().parameters)
    evidence = training_evidence(RUN, _judged(other))
    assert math.isclose(evidence.width, LEVELS_SAY * (1 + 2 * CONSTANTS.growth))
    assert math.isclose(evidence.band.low * evidence.band.high, 1)
    assert math.isclose(evidence.band.high, math.exp(evidence.width))
    assert evidence.trust == "few runs"
    assert evidence.reason.startswith("1 run of 1 source on a100_80, 16-bit, dense, pipeline;")
    assert evidence.reason.endswith("nearest: gpt-80B on 256")


def test_rows_of_a_pair_move_its_band_as_far_as_they_outweigh_the_pull() -> None:
    """Five rows inside: 0.8 x 5 - 5 = -1 row, over the pull of 2; then again at all levels."""
    within, beyond = _group(*[LEVELS_SAY / 10] * 5), _group(*[1.5 * LEVELS_SAY] * 50)
    narrow, wide = (training_evidence(RUN, _judged(one)).width for one in (within, beyond))
    assert math.isclose(narrow, LEVELS_SAY * math.exp(-2 * 1 / PULL))
    assert math.isclose(wide, 1.5 * LEVELS_SAY)


def test_many_rows_of_two_sources_count_as_measured() -> None:
    groups = [_group(*[0.1] * 10, source=source) for source in "ab"]
    assert training_evidence(RUN, _judged(*groups)).trust == "measured"


def test_a_machine_of_four_times_the_size_is_two_doublings_away() -> None:
    here, there = _group(0.1), _group(0.1, npus=1024)
    near, far = (training_evidence(RUN, _judged(group)).width for group in (here, there))
    assert math.isclose(far / near, 1 + 2 * CONSTANTS.growth)


def test_rows_of_one_source_weigh_less_than_as_many_of_their_own() -> None:
    weights = independent(np.array([0] * 100 + [1]))
    assert math.isclose(weights.sum(), 1 + 100 / (1 + 99 * LIKENESS))


def test_what_was_never_measured_is_said_to_be_so() -> None:
    other = _group(0.1, levels=("dense", "16-bit", "tpu_v4", "pipeline"))
    unseen = training_evidence(RUN, _judged(other))
    assert unseen.trust == "prior"
    assert unseen.reason == "no measured run on a100_80"
    assert unseen.width == pytest.approx(0.1 * math.exp(0.2 + 0.1 - 0.1) * UNFITTED)
    narrow = _group(0.1, levels=("dense", "8-bit", "a100_80", "pipeline"))
    evidence = training_evidence(RUN, _judged(narrow))
    assert evidence.trust == "nearby"
    assert "have other formats or models" in evidence.reason


def test_an_accelerator_of_the_same_chip_lends_its_runs() -> None:
    twin = _group(0.1, levels=("dense", "16-bit", "a100_40", "pipeline"))
    evidence = training_evidence(RUN, _judged(twin))
    assert evidence.trust == "nearby"
    assert evidence.reason == "no measured run on a100_80; a100_40 has the same chip"


def test_the_shipped_table_has_a_band_for_gpt_on_a100() -> None:
    band = prediction_band(RUN)
    assert band.trust == "measured"
    assert 0.6 < band.low < 1 < band.high < 1.5
    assert str(band).startswith(f"{band.low - 1:+.0%} to {band.high - 1:+.0%} (measured: ")


def test_tables_of_residuals_come_back_and_broken_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    groups = grouped([_group(0.1), _group(-0.25), _group(0.5, source="b")])
    write_groups(path, TRAINING, groups)
    assert list(read_groups(path, TRAINING)) == groups
    assert groups[0].residuals == (-0.25, 0.1)
    whole = path.read_text(encoding="utf-8")
    for broken in (whole.replace("500", "x"), whole.replace("kind", "sort"), whole + "a,b\n"):
        path.write_text(broken, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"measured\.csv"):
            read_groups(path, TRAINING)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("dlrm_2p6t_256_h100", "dlrm"), ("t5_11b_1024_tpu_v3", "encoder-decoder")],
)
def test_bands_of_another_kind_are_wide_and_told_as_a_prior(name: str, kind: str) -> None:
    band = prediction_band(load_run(shipped_folder("configs") / "runs" / f"{name}.yaml"))
    assert band.trust == "prior"
    assert band.reason == f"no measured run of a workload of this kind ({kind})"
    assert "a prior, not validated here" in str(band)
    assert band.high / band.low > 1.5


@pytest.mark.parametrize(
    ("change", "choice"),
    [
        ({"plan.schedule": "1f1b_overlapped"}, "plan.schedule: 1f1b_overlapped"),
        ({"plan.updates.kind": "gossip"}, "plan.updates: gossip"),
        ({"plan.cp_kind": "ring"}, "plan.cp_kind: ring"),
    ],
)
def test_choices_that_no_measured_run_made_widen_the_band(
    change: dict[str, str], choice: str
) -> None:
    file = shipped_folder("configs") / "runs" / "gpt3_175b_1024_a100.yaml"
    usual, other = prediction_band(load_run(file)), prediction_band(load_run(file, change))
    assert usual.trust != "prior"
    assert other.trust == "prior"
    assert other.reason == f"no measured run with {choice}"
    assert other.low < usual.low < 1 < usual.high < other.high


@pytest.mark.parametrize("measured", ["", "0"])
def test_rows_without_a_measured_time_are_not_compared(measured: str) -> None:
    rows = [MeasuredRow({"id": "x", "iter_time_s": measured}, "t:1")]
    assert compare(rows, [], training_s) == []
