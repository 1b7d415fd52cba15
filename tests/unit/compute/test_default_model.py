"""A run that names no compute model takes that which is held against measured runs of its kind."""

from typing import Any

import pytest

from simcore import Run, load_run, load_service, simulate_run, simulate_service
from simcore.checks import check_run
from simcore.errors import ConfigError
from simcore.files.resources import shipped_folder

CONFIGS = shipped_folder("configs")
DECODE, TRAINING = "llama3_70b_8_h100_decode.yaml", "gpt3_175b_1024_a100.yaml"
SERVICE = CONFIGS / "services" / "llama3_70b_16_h100_pools.yaml"


def run_of(name: str, **values: Any) -> Run:
    return load_run(CONFIGS / "runs" / name, values)


@pytest.mark.parametrize(
    ("name", "npu", "compute", "reason"),
    [
        (DECODE, "h100_80", "measured", "inference where h100_80 has kernel tables (h100)"),
        (DECODE, "mi300x", "recorded", "inference where no kernel tables of mi300x are known"),
        (TRAINING, "a100_80", "roofline", "it is the default for training"),
        (TRAINING, "h100_80", "roofline", "it is the default for training"),
    ],
)
def test_the_kind_of_workload_and_the_accelerator_decide(
    name: str, npu: str, compute: str, reason: str
) -> None:
    run = run_of(name, **{"platform.npu": npu})
    assert run.compute == compute
    assert reason in run.compute_reason
    result = simulate_run(run)
    assert (result.compute, result.compute_reason) == (run.compute, run.compute_reason)
    named = simulate_run(run_of(name, **{"platform.npu": npu, "compute": compute}))
    assert named.iteration_time_s == result.iteration_time_s
    assert named.compute_reason == "the run names it"


@pytest.mark.parametrize("compute", ["roofline", "recorded", "ideal", "measured"])
def test_a_model_that_is_named_is_taken(compute: str) -> None:
    for name in (DECODE, TRAINING):
        run = run_of(name, compute=compute)
        assert (run.compute, run.compute_reason) == (compute, "the run names it")


@pytest.mark.parametrize("compute", ["", "measurd"])
def test_a_model_that_is_none_is_refused(compute: str) -> None:
    with pytest.raises(ConfigError, match=r"compute: compute model must be one of roofline"):
        check_run(run_of(DECODE, compute=compute))


def test_both_pools_of_a_service_take_the_default() -> None:
    found = simulate_service(load_service(SERVICE))
    assert found.reading.compute == found.answering.compute == "measured"
    named = simulate_service(load_service(SERVICE, {"compute": "recorded"}))
    assert named.reading.compute == named.answering.compute == "recorded"


def test_a_step_takes_about_as_long_as_reading_its_weights_and_cache() -> None:
    """Engines read memory at half of its rate or more: 28.4 GB per H100 of 3.35 TB/s.

    Decode attention and products of decoding read at 0.6 to 0.93 of it in the tables of
    AIConfigurator 0.12; collectives come on top.
    """
    result = simulate_run(run_of(DECODE))
    needed = result.footprint.fullest
    read_s = (needed.weights_bytes + needed.cache_bytes) / 3.35e12
    assert read_s < result.iteration_time_s < 2 * read_s
