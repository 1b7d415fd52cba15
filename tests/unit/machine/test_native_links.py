"""Links as the accelerator has them: ``native`` in a network dimension."""

from typing import Any

import numpy as np
import pytest
from every_case import with_every

from simcore import (
    ConfigError,
    Platform,
    RunTemplate,
    Simulator,
    load_npu,
    load_platform,
    lower_bounds,
    unbuildable,
)
from simcore.files.resources import shipped_names

GB = 1e9
NATIVE = {"topology": "native", "bandwidth": "native", "latency": "native"}


def native(npu: str, *npus: int, **more: Any) -> Platform:
    """A machine all of whose links are the accelerator's; *more* goes into the last dimension."""
    dimensions: list[dict[str, Any]] = [{**NATIVE, "npus": count} for count in npus]
    dimensions[-1].update(more)
    return load_platform({"npu": npu, "dimensions": dimensions})


def links(platform: Platform) -> list[tuple[str, float]]:
    return [(one.topology, one.bandwidth_bytes_per_s / GB) for one in platform.dimensions]


@pytest.mark.parametrize(
    ("npu", "npus", "expected"),
    [
        ("h100_80", [8, 16], [("switch", 450), ("switch", 50)]),  # DGX H100: 8 x 400 Gb/s
        ("gb200", [72, 8], [("switch", 900), ("switch", 50)]),  # NVL72
        ("b200", [72, 8], [("switch", 50), ("switch", 50)]),  # no domain of 72: cards alone
        ("mi300x", [8, 4], [("fully_connected", 448), ("switch", 50)]),
        ("tpu_v5p", [16, 16, 8], [("ring", 200)] * 3),  # 600 GB/s over three axes
    ],
)
def test_links_are_those_that_the_accelerator_is_sold_with(
    npu: str, npus: list[int], expected: list[tuple[str, float]]
) -> None:
    found = links(native(npu, *npus))
    if npu == "b200":  # two dimensions share the cards
        expected = [(shape, rate / 2) for shape, rate in expected]
    assert [shape for shape, _ in found] == [shape for shape, _ in expected]
    assert [rate for _, rate in found] == pytest.approx([rate for _, rate in expected])


def test_a_level_that_shares_ports_has_the_bandwidth_of_the_one_before() -> None:
    found = native("h100_80", 8, 16, 4, shares_ports=True)
    assert links(found) == [("switch", 450), ("switch", 50), ("switch", 50)]


def test_what_is_written_out_stays_and_takes_no_share() -> None:
    found = load_platform(
        {
            "npu": "tpu_v4",
            "dimensions": [
                {"topology": "ring", "npus": 16, "bandwidth": "90 GB/s", "latency": "1 us"},
                {**NATIVE, "npus": 16, "latency": "2 us"},
            ],
        }
    )
    assert links(found) == [("ring", 90), ("ring", 270)]
    assert found.dimensions[1].latency_s == 2e-6


@with_every("name", shipped_names("npus"))
def test_native_machines_can_be_built_or_are_refused_with_what_is_missing(name: str) -> None:
    npu = load_npu(name)
    has_domain = npu.scale_up.npus > 1
    sizes = [npu.scale_up.npus, 4] if has_domain else [4]
    missing = [table for table, value in (
        ("scale_up", not has_domain or (npu.scale_up.topology and npu.scale_up.fabric)),
        ("scale_out", npu.scale_out and npu.scale_out.installed_bytes_per_s),
    ) if not value]  # fmt: skip
    if not missing:
        assert unbuildable(native(name, *sizes)) is None
        return
    with pytest.raises(ConfigError, match=f"is not told by {missing[0]} of {name}.*'native'"):
        native(name, *sizes)


def test_most_accelerators_that_are_sold_tell_their_links() -> None:
    told = [
        npu for npu in map(load_npu, shipped_names("npus"))
        if npu.scale_up.topology and npu.scale_out and npu.scale_out.installed_bytes_per_s
    ]  # fmt: skip
    assert len(told) >= 13


def test_installed_cards_fit_into_their_slots() -> None:
    out = load_npu("h100_80").scale_out
    assert out is not None
    with pytest.raises(ConfigError, match="installed: must be 64 GB/s"):
        type(out).build(**{**out.__dict__, "installed_bytes_per_s": 65 * GB})


RUN = {
    "workload": {"model": "llama3_8b", "sequence": 2048, "global_batch": 64},
    "platform": {
        "npu": "h100_80",
        "dimensions": [{**NATIVE, "npus": 8}, {**NATIVE, "npus": 4}],
    },
    "plan": {"tp": 4, "pp": 2, "dp": 4, "zero_stage": 1},
}


def written_out(platform: Platform) -> dict[str, Any]:
    """The run on *platform* with every value of its links in place."""
    dimensions = [
        {
            "topology": one.topology,
            "npus": one.npus,
            "bandwidth": f"{one.bandwidth_bytes_per_s!r} B/s",
            "latency": f"{one.latency_s!r} s",
        }
        for one in platform.dimensions
    ]
    return {**RUN, "platform": {"npu": platform.npu.name, "dimensions": dimensions}}


def test_an_accelerator_as_a_knob_brings_its_links_to_runs_and_to_bounds() -> None:
    template, simulator = RunTemplate.from_table(RUN), Simulator()
    designs: list[dict[str, Any]] = [
        {
            "platform.npu": npu,
            "platform.dimensions[0].npus": inner,
            "platform.dimensions[1].npus": 32 // inner,
        }
        for npu in ("a100_80", "h100_80", "b200", "gb200", "mi300x")
        for inner in (4, 8, 16)
    ]
    bounds = lower_bounds(RUN, designs)
    for design, bound in zip(designs, bounds, strict=True):
        run = template.with_values(design)
        alone = written_out(run.platform)
        same = RunTemplate.from_table(alone).with_values({})
        assert same.platform.dimensions == run.platform.dimensions
        time_s = simulator.simulate(run).iteration_time_s
        assert time_s == simulator.simulate(same).iteration_time_s
        assert bound == lower_bounds(alone, [{}])[0] <= time_s
    assert len(np.unique(bounds)) > 10


def test_unknown_facts_are_told_with_their_place() -> None:
    with pytest.raises(ConfigError, match=r"dimensions\[0\]\.topology: is not told by scale_up"):
        native("dojo_d1", 1)
    with pytest.raises(ConfigError, match=r"dimensions\[1\]\.bandwidth: is not told by scale_out"):
        native("tpu_v5e", 256, 4)
