"""A site's own runs move predictions like theirs, little by little, and nothing far away."""

from dataclasses import replace
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from simcore import (
    ConfigError,
    TrainingWorkload,
    load_calibration,
    load_run,
    prediction_band,
    shipped_folder,
)
from simcore.validation.bands.shipped import Likeness
from simcore.validation.calibrated.file import Calibration, SiteRun, write_calibration
from simcore.validation.calibrated.fit import SHARES, SiteRuns, fitted_likeness
from simcore.validation.calibrated.place import RunPlace, shared
from simcore.validation.calibrated.posterior import Posterior
from simcore.validation.calibrated.site import MOST_SHIFT, Site

RUN = load_run(shipped_folder("configs") / "runs" / "gpt3_175b_1024_a100.yaml")
assert isinstance(RUN.workload, TrainingWorkload)
SEQUENCE = RUN.workload.sequence
LIKENESS = Likeness(variance=2.0, shared=0.8, reach=1)


def site_run(name: str, factor: float, **changes: object) -> SiteRun:
    place = RunPlace.of(RUN)
    kind, number_format, npu, layout = place.levels
    values: dict[str, object] = {
        **{"run": name, "kind": kind, "number_format": number_format, "npu": npu, "layout": layout},
        **{key: getattr(RUN.workload.model, key) for key in ("parameters", "hidden", "layers")},
        **{"sequence": SEQUENCE, "npus": RUN.platform.npus},
        **{key: getattr(RUN.plan, key) for key in ("tp", "pp", "cp", "ep", "micro_batch")},
        **{"sharded": False, "predicted_s": 10.0, "measured_s": 10.0 * factor},
    }
    return SiteRun.build("", **{**values, **changes})


def site(*runs: SiteRun) -> Site:
    return Site(Calibration.build(name="ours", runs=runs), likeness=LIKENESS)


def test_one_run_gives_the_posterior_mean_and_variance_of_two_normal_variables() -> None:
    place = RunPlace.of(RUN)
    posterior = Posterior([place], [1.5], LIKENESS)
    means, left = posterior.at([place])
    assert means[0] == pytest.approx(LIKENESS.shared * 1.5)
    assert left[0] == pytest.approx(1 - LIKENESS.shared**2)


def test_a_band_narrows_by_the_part_that_it_believes() -> None:
    place = RunPlace.of(RUN)
    doubting = Posterior([place], [1.5], LIKENESS.model_copy(update={"believed": 0.5}))
    means, left = doubting.at([place])
    assert means[0] == pytest.approx(LIKENESS.shared * 1.5)
    assert left[0] == pytest.approx(1 - 0.5 * LIKENESS.shared**2)


def test_covariances_of_any_places_are_those_of_random_variables() -> None:
    random = np.random.default_rng(0)
    here = RunPlace.of(RUN)
    places = [
        replace(
            here,
            kinds=(*here.kinds[:2], str(random.integers(3))),
            model=tuple(random.uniform(0, 40, 2)),
            near=tuple(random.integers(0, 5, 6)),
        )
        for _ in range(40)
    ]
    assert np.linalg.eigvalsh(shared(places, places, LIKENESS)).min() > -1e-9


def test_slower_runs_move_the_band_up_and_narrow_it() -> None:
    before = prediction_band(RUN)
    one = site(site_run("a", 1.1)).band(RUN)
    many = site(*(site_run(name, 1.1) for name in "abcdef")).band(RUN)
    assert 1 < one.middle < many.middle < 1.1
    widths = [log(band.high / band.low) for band in (before, one, many)]
    assert widths[0] > widths[1] > widths[2]
    assert "moved by 6 runs of ours" in many.reason


def test_more_runs_at_one_place_never_widen_a_band() -> None:
    bands = [site(*(site_run(name, 1.1) for name in "abcdefgh"[:n])).band(RUN) for n in range(1, 9)]
    widths = [band.high / band.low for band in bands]
    assert widths == sorted(widths, reverse=True)


def _sites(reach: float, own_part: float, seed: int) -> dict[str, SiteRuns]:
    """Sites whose residuals are drawn from the model itself."""
    random, here = np.random.default_rng(seed), RunPlace.of(RUN)
    found: dict[str, SiteRuns] = {}
    true = Likeness(variance=1.0, shared=1 - own_part, reach=reach)
    for name in "abcdefghijkl":
        nears = random.integers(0, 4, (60, 6))
        places = [replace(here, near=tuple(map(float, near))) for near in nears]
        covariance = shared(places, places, true) + own_part * np.eye(60)
        found[name] = (places, random.multivariate_normal(np.zeros(60), covariance).tolist())
    return found


def test_the_reach_over_which_runs_of_sites_err_alike_is_found_again() -> None:
    near, far = (fitted_likeness(_sites(reach, 0.1, 0)) for reach in (0.7, 8.0))
    assert near.reach < far.reach
    assert far.shared >= 0.7
    assert 0.7 < far.believed <= 1  # normal residuals keep what they promise


def test_bands_believe_nothing_of_runs_that_tell_nothing_of_each_other() -> None:
    unlike = fitted_likeness(_sites(2.0, 1.0, 1))
    assert unlike.shared == min(SHARES)
    assert unlike.believed < 0.5


def test_runs_on_another_accelerator_move_less_than_runs_on_this_one() -> None:
    near = site(site_run("a", 1.1)).band(RUN).middle
    far = site(site_run("a", 1.1, npu="h100_80")).band(RUN).middle
    assert 1 <= far < near


def test_no_run_moves_a_prediction_by_more_than_a_factor_of_two() -> None:
    wild = site(*(site_run(name, 100.0) for name in "abcdefgh"))
    assert wild.band(RUN).middle <= exp(MOST_SHIFT) + 1e-9


def test_errors_are_told_as_left_by_the_other_runs() -> None:
    agreeing = site(*(site_run(name, 1.1) for name in "abcd")).training.errors_left()
    assert all(abs(error) < 0.09 for error in agreeing)
    (alone,) = site(site_run("a", 1.1)).training.errors_left()
    assert alone == pytest.approx(1 / 1.1 - 1)


def test_a_calibration_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    runs = (site_run("a", 1.1), site_run("b", 0.9, tp=1))
    written = Calibration.build(name="ours", simcore_version="1.2.3", runs=runs)
    write_calibration(path, written)
    assert load_calibration(path) == written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 1\nruns: []\n", "runs"),
        ("version: 1\n", "runs: must hold a run"),
        ("version: 2\nruns: []\n", "version: must be 1"),
        ("version: 1\nruns: [{run: a}]\n", "runs[0]"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load_calibration(path)
    assert str(path) in str(error.value)
    assert words in str(error.value)
