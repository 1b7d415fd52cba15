"""Studies whose iteration times are moved by runs of one's own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_study import STUDY

import dse
from dse.evaluate import build_evaluator
from dse.proof.designs import check_bounded
from dse.study.compile import load_study_file
from simcore import ConfigError, Site, load_calibration
from simcore.validation.calibrated.file import (
    Calibration,
    SiteLoadTest,
    SiteRun,
    write_calibration,
)

OPTIONS: dict[str, Any] = {"executor": "serial", "workers": 1}


def _calibration(path: Path, factor: float) -> None:
    """A site whose runs, like those of the study, all took *factor* times as long as predicted."""
    study = yaml.safe_load(yaml.safe_dump(STUDY))
    npu = study["run"]["platform"]["npu"]
    runs = [
        SiteRun.build(
            "",
            **{"run": f"r{at}", "kind": "dense", "number_format": "16-bit", "npu": npu},
            **{"layout": "tensor", "parameters": 10**9, "npus": 64, "tp": tp, "pp": 1, "cp": 1},
            **{"ep": 1, "micro_batch": 1, "sharded": False, "predicted_s": 1.0},
            **{"hidden": 2048, "layers": 16, "sequence": 2048},
            measured_s=factor,
        )
        for at, tp in enumerate((1, 2, 4, 8))
    ]
    write_calibration(path, Calibration.build(name="ours", runs=runs))


def _study(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "study.yaml"
    data = {**yaml.safe_load(yaml.safe_dump(STUDY)), **changes}
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path


def test_times_rates_and_bands_are_moved_alike(tmp_path: Path) -> None:
    _calibration(tmp_path / "ours.yaml", 1.2)
    plain, moved = (
        build_evaluator(load_study_file(_study(tmp_path, **key)).evaluator_input)
        for key in ({}, {"calibration": "ours.yaml"})
    )
    study = load_study_file(_study(tmp_path))
    design = next(filter(plain.admits, study.space.designs()))
    before, after = plain.metrics(design), moved.metrics(design)
    factor = after["iteration_time_s"] / before["iteration_time_s"]
    assert 1 < factor < 1.2
    assert after["simulated_time_s"] == before["iteration_time_s"]
    assert after["tokens_per_s"] == pytest.approx(before["tokens_per_s"] / factor)
    low, high = (after[f"iteration_time_{end}_s"] for end in ("low", "high"))
    assert low < after["iteration_time_s"] < high
    assert "moved by 4 runs of ours" in moved.measured_against(design)
    assert Site(load_calibration(tmp_path / "ours.yaml")).name == "ours"


def test_tokens_and_rates_of_services_are_moved_by_load_tests(tmp_path: Path) -> None:
    tests = [
        SiteLoadTest.build(
            "",
            **{"run": f"t{at}", "mode": "pools", "kind": "dense", "engine": "vllm", "npu": "h100"},
            **{"number_format": "16-bit", "regime": "many", "parameters": 70 * 10**9, "npus": 8},
            **{"requests_per_npu": 8.0 * 2**at, "tokens": 4224, "predicted_s": 1.0},
            measured_s=1.4,
        )
        for at in range(4)
    ]
    write_calibration(tmp_path / "ours.yaml", Calibration.build(name="ours", load_tests=tests))
    study = load_study_file("serve_llama3_70b.yaml")
    what = study.evaluator_input
    plain, moved = (
        build_evaluator(replace(what, folder=str(tmp_path), calibration=file))
        for file in ("", "ours.yaml")
    )
    design = next(filter(plain.admits, study.space.designs()))
    before, after = plain.metrics(design), moved.metrics(design)
    name = "time_per_output_token_s"
    factor = after[name] / before[name]
    assert 1.02 < factor < 1.4
    assert after[f"simulated_{name}"] == before[name]
    rates = [metrics["answering_requests_per_s"] for metrics in (before, after)]
    assert rates[1] == pytest.approx(rates[0] / factor)
    assert (
        after["time_per_output_token_low_s"] < after[name] < after["time_per_output_token_high_s"]
    )
    assert "moved by 4 load tests of ours" in moved.measured_against(design)


def test_a_resumed_study_notices_other_runs(tmp_path: Path) -> None:
    _calibration(tmp_path / "ours.yaml", 1.2)
    file = _study(tmp_path, calibration="ours.yaml")
    dse.run_study(file, out=tmp_path / "out", trials=5, **OPTIONS)
    _calibration(tmp_path / "ours.yaml", 1.1)
    with pytest.raises(ConfigError, match=r"--resume: .*ours\.yaml"):
        dse.run_study(file, out=tmp_path / "out", trials=10, resume=True, **OPTIONS)


def test_bounds_of_simulated_times_are_not_used(tmp_path: Path) -> None:
    _calibration(tmp_path / "ours.yaml", 0.8)
    study = load_study_file(_study(tmp_path, calibration="ours.yaml"))
    with pytest.raises(ConfigError, match=r"calibration: bounds are those of simulated times"):
        check_bounded(study)


@pytest.mark.parametrize("text", [None, "version: 1\nruns: []\n"])
def test_a_calibration_that_is_missing_or_broken_is_told(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "ours.yaml").write_text(text, encoding="utf-8")
    file = _study(tmp_path, calibration="ours.yaml")
    with pytest.raises(ConfigError, match=r"ours\.yaml"):
        dse.run_study(file, out=tmp_path / "out", trials=5, **OPTIONS)
