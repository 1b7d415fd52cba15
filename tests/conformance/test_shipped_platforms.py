"""Every platform that the product ships can be loaded and simulated."""

import csv
from pathlib import Path

import pytest
from every_case import with_every

from simcore import simulate
from simcore.files.resources import shipped_names
from simcore.machine import Platform, load_npu, load_platform
from simcore.machine.system import System
from simcore.terms import Precision
from simcore.workload import Model, ParallelPlan, TrainingWorkload

TABLE = Path(__file__).parents[3] / "shared" / "spec" / "platforms.csv"
MODEL = Model(name="small", layers=4, hidden=1024, heads=16, ffn=4096, vocabulary=32000)
TOGETHER = System(phase_end="together", chunks=1)


def _workload(platform: Platform) -> TrainingWorkload:
    known = platform.npu.peak_flop_per_s
    precision = Precision.BF16 if Precision.BF16 in known else Precision.FP16
    return TrainingWorkload(
        model=MODEL, sequence=512, global_batch=platform.npus, precision=precision
    )


@with_every("name", shipped_names("platforms"))
def test_a_shipped_platform_trains_a_small_model(name: str) -> None:
    platform = load_platform(name)
    plan = ParallelPlan(dp=platform.npus)
    result = simulate(_workload(platform), platform, plan, system=TOGETHER)
    assert result.npus == platform.npus
    # no faster than the roofline, and no slower than a hundredth of it plus ten seconds of network
    flop = 6 * 512 * MODEL.parameters
    least_s = flop / platform.npu.peak(_workload(platform).precision)
    assert least_s < result.iteration_time_s < 100 * least_s + 10


@with_every("name", shipped_names("npus"))
def test_a_shipped_npu_gives_a_source_for_every_group_of_values(name: str) -> None:
    npu = load_npu(name)
    assert npu.name == name
    assert all(len(text) > 3 for text in npu.sources.model_dump().values())


@pytest.mark.skipif(not TABLE.exists(), reason="the survey of platforms is not on this machine")
def test_every_platform_of_the_survey_is_shipped_with_its_size() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        sizes = {row["platform"]: int(row["npus_total"]) for row in csv.DictReader(file)}
    assert len(sizes) == 37
    assert {name: load_platform(name).npus for name in sizes} == sizes
