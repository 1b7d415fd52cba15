from pathlib import Path

import pytest
from every_case import with_every

from simcore import RunTemplate, simulate_run
from simcore.errors import ConfigError
from simcore.files.resources import shipped_names
from simcore.machine import Npu, load_npu, load_platform
from simcore.machine.npu import OWN_VALUE
from simcore.terms import Precision

LINK = {"topology": "ring", "npus": 4, "bandwidth": "50 GB/s", "latency": "500 ns"}


@with_every("name", shipped_names("npus"))
def test_every_shipped_npu_loads_and_cites_its_sources(name: str) -> None:
    npu = load_npu(name)
    assert npu.name == name
    parts = [part.source for part in (npu.host, npu.scale_out) if part is not None]
    told = [*npu.sources.model_dump().values(), *parts]
    assert all(len(text) > 5 and text != OWN_VALUE for text in told)


def test_an_accelerator_of_ones_own_needs_no_sources_and_says_so() -> None:
    own = {
        "name": "mine",
        "peak": {"bf16": "500 TFLOP/s"},
        "memory": "96 GB",
        "memory_bandwidth": "3 TB/s",
        "scale_up": {"npus": 8, "bandwidth": "200 GB/s"},
        "scale_out": {"ports": 1, "bandwidth": "50 GB/s"},
        "efficiency": {
            "gemm": 0.7,
            "gemm_ramp": "1 us",
            "attention": 0.5,
            "memory": 0.8,
            "kernel_overhead": "2 us",
        },
    }
    npu = load_npu(own)
    assert set(npu.sources.model_dump().values()) == {OWN_VALUE}
    priced = load_npu({**own, "price": "9000 USD", "sources": {"price": "a quote of May"}})
    assert (priced.sources.price, priced.sources.peak) == ("a quote of May", OWN_VALUE)
    run = {
        "version": 1,
        "workload": {"model": "gpt3_175b_4layers", "sequence": 256, "global_batch": 4},
        "platform": {"npu": own, "dimensions": [LINK]},
        "plan": {"tp": 4},
    }
    assert simulate_run(RunTemplate.from_table(run, beside=None).with_values({})).iteration_time_s


@with_every("name", shipped_names("platforms"))
def test_every_shipped_platform_loads_and_cites_its_source(name: str) -> None:
    platform = load_platform(name)
    assert platform.name == name
    assert len(platform.source) > 5


def test_a_platform_takes_its_npu_by_name_and_multiplies_its_dimensions() -> None:
    platform = load_platform("dgx_h100_superpod")
    assert platform.npus == 1024
    assert platform.npu.peak(Precision.BF16) == 989e12


def test_an_unknown_npu_name_lists_the_shipped_ones() -> None:
    with pytest.raises(ConfigError, match=r"platform\.npu: .*did you mean 'a100_80'"):
        load_platform({"npu": "a100_8", "dimensions": [LINK]})


def test_a_misspelt_topology_is_answered_with_the_choices() -> None:
    with pytest.raises(ConfigError, match=r"\[0\]\.topology: .* fully_connected, .*mean 'ring'"):
        load_platform({"npu": "a100_80", "dimensions": [{**LINK, "topology": "rinng"}]})


def test_a_bandwidth_without_unit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"dimensions\[0\]\.bandwidth: must have a unit"):
        load_platform({"npu": "a100_80", "dimensions": [{**LINK, "bandwidth": 50}]})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"bandwidth": "0 GB/s"}, "bandwidth"),
        ({"bandwidth": "nan GB/s"}, "bandwidth"),
        ({"latency": "-1 ns"}, "latency"),
        ({"npus": 1}, "npus"),
        ({"npus": 2.5}, "npus"),
    ],
)
def test_values_out_of_range_are_refused(change: dict[str, object], place: str) -> None:
    with pytest.raises(ConfigError, match=rf"dimensions\[0\]\.{place}"):
        load_platform({"npu": "a100_80", "dimensions": [{**LINK, **change}]})


@pytest.mark.parametrize("count", [0, 9])
def test_a_platform_has_one_to_eight_dimensions(count: int) -> None:
    with pytest.raises(ConfigError, match="dimensions"):
        load_platform({"npu": "a100_80", "dimensions": [LINK] * count})


def test_files_of_the_user_are_read_beside_the_platform_file(tmp_path: Path) -> None:
    npu = load_npu("cosmic_b")
    text = Path(__file__).parents[3].joinpath("configs/npus/cosmic_b.yaml").read_text()
    tmp_path.joinpath("mine.yaml").write_text(text)
    tmp_path.joinpath("machine.yaml").write_text(
        "version: 1\nnpu: mine.yaml\ndimensions:\n"
        "  - {topology: ring, npus: 4, bandwidth: 1 GB/s, latency: 1 ns}\n"
    )
    platform = load_platform("machine.yaml", beside=tmp_path)
    assert platform.npu == npu.model_copy(update={"name": "mine"})


def test_an_error_in_a_file_names_the_file_and_the_place(tmp_path: Path) -> None:
    tmp_path.joinpath("bad.yaml").write_text("version: 1\npeak: {bf16: 1 TFLOP/s}\n")
    with pytest.raises(ConfigError, match=r"bad\.yaml: memory: this key is required"):
        load_npu("bad.yaml", beside=tmp_path)
    tmp_path.joinpath("bad.yaml").write_text("version: 2\n")
    with pytest.raises(ConfigError, match=r"version: must be 1, but got 2"):
        load_npu("bad.yaml", beside=tmp_path)


def test_an_npu_and_a_platform_pass_through_unchanged() -> None:
    platform = load_platform("cosmic_b")
    assert load_platform(platform) is platform
    assert load_platform({"npu": platform.npu, "dimensions": [LINK]}).npu is platform.npu


def test_a_missing_number_format_is_answered_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="v100_32 computes in fp16, fp32, but got 'bf16'"):
        load_npu("v100_32").peak(Precision.BF16)


def test_a_peak_of_zero_and_a_negative_price_are_refused() -> None:
    table = load_npu("a100_80").model_dump(by_alias=False)
    with pytest.raises(ConfigError, match=r"peak\.bf16: must be above 0"):
        Npu.build(**{**table, "peak_flop_per_s": {"bf16": 0.0}})
    with pytest.raises(ConfigError, match="price: must be 0 or more"):
        Npu.build(**{**table, "price_usd": -1.0})
