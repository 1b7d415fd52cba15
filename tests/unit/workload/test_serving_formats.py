"""Formats of an engine: what is stored, what is read, and which kernels they name."""

from typing import Any, get_args

import pytest

from simcore import Simulator, load_run
from simcore.config import Run
from simcore.errors import ConfigError
from simcore.files.resources import shipped_folder
from simcore.memory.footprint import footprint
from simcore.terms import FORMATS
from simcore.workload import build_graph
from simcore.workload.kinds.inference.formats import FormatName

DECODE = shipped_folder("configs") / "runs" / "llama3_70b_8_h100_decode.yaml"
EXPERTS = shipped_folder("configs") / "runs" / "deepseek_v3_128_h800_decode.yaml"
NARROW = {"weights": "nvfp4", "cache": "fp8"}


def run_of(formats: dict[str, str], path: Any = DECODE, **settings: Any) -> Run:
    return load_run(path, {"workload.formats": formats, **settings})


def test_files_may_name_every_format_that_kernels_know() -> None:
    assert set(get_args(FormatName)) == set(FORMATS)


def test_weights_and_cache_take_the_bytes_of_their_formats() -> None:
    wide, narrow = (
        footprint(run.workload, run.plan).fullest
        for run in (run_of({"weights": "bf16"}), run_of({"weights": "fp8", "cache": "fp8"}))
    )
    ends = 2 * 2 * 128_256 * 8192 / 8  # token table and head in 16 bits
    assert narrow.weights_bytes - ends == pytest.approx((wide.weights_bytes - ends) / 2, rel=1e-9)
    assert narrow.cache_bytes == wide.cache_bytes / 2


def test_products_and_attention_name_their_formats_and_the_head_none() -> None:
    run = run_of(NARROW)
    kernels = {
        kernel.name: kernel
        for operator in build_graph(run.workload, run.plan).operators
        for kernel in operator.kernels
    }
    assert kernels["qkv"].format == "nvfp4"
    assert kernels["head"].format == ""
    core = kernels["attention core"]
    assert (core.format, core.groups, core.heads, core.key_heads) == ("fp8", 64, 8, 1)


def test_experts_may_have_a_format_of_their_own() -> None:
    given = {"weights": "fp8_block", "experts": "nvfp4"}
    run = run_of(given, EXPERTS, **{"workload.precision": "bf16", "workload.weight_format": None})
    formats = {
        kernel.name: kernel.format
        for operator in build_graph(run.workload, run.plan).operators
        for kernel in operator.kernels
    }
    assert formats["experts up"] == formats["experts down"] == "nvfp4"
    assert formats["shared experts up"] == "fp8_block"


@pytest.mark.parametrize("npu", ["h100_80", "h200", "b200", "b300"])
def test_fewer_bits_are_no_slower(npu: str) -> None:
    formats = [{"weights": "bf16"}, {"weights": "fp8", "cache": "fp8"}]
    if npu.startswith("b"):
        formats.append(NARROW)
    simulator = Simulator()
    times = [
        simulator.simulate(run_of(each, compute="measured", **{"platform.npu": npu}))
        for each in formats
    ]
    spans = [result.iteration_time_s for result in times]
    assert spans == sorted(spans, reverse=True)


def test_formats_take_the_place_of_a_precision() -> None:
    with pytest.raises(ConfigError, match=r"workload.formats: takes the place of precision"):
        run_of(NARROW, **{"workload.precision": "fp8"})


def test_routers_stay_in_16_bits_and_latents_do_where_they_are_told_to() -> None:
    given = {"weights": "nvfp4", "latents": "bf16"}
    run = run_of(given, EXPERTS, **{"workload.precision": "bf16", "workload.weight_format": None})
    kernels = {
        kernel.name: kernel
        for operator in build_graph(run.workload, run.plan).operators
        for kernel in operator.kernels
    }
    assert kernels["attention output"].format == "nvfp4"
    for name in ("router", "latents", "queries", "keys and values"):
        assert kernels[name].format == ""
