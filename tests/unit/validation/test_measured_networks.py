"""A prediction on a network that no measured run had is told as one."""

from pathlib import Path

import pytest

from simcore import Run, load_run, prediction_band
from simcore.errors import ConfigError
from simcore.files.resources import shipped_folder
from simcore.validation.bands.classes import TRAINING, layout_of
from simcore.validation.bands.networks import Joint, Networks, joints_of
from simcore.validation.bands.shipped import shipped

GPT = shipped_folder("configs") / "runs" / "gpt3_175b_1024_a100.yaml"
"""GPT-3 on 1,024 A100: switches of 8 at 300 GB/s, and between them at 25 GB/s."""


def gpt(**changes: object) -> Run:
    """The run with dimensions or a plan changed: ``inside_topology``, ``beyond_bandwidth``, ..."""
    given: dict[str, object] = {}
    at = {"inside": 0, "beyond": 1}
    for name, value in changes.items():
        side, _, key = name.partition("_")
        path = f"platform.dimensions[{at[side]}].{key}" if side in at else name.replace("__", ".")
        given[path] = value
    return load_run(GPT, given)


def networks(*runs: Run) -> Networks:
    return Networks.of(run.platform for run in runs)


@pytest.mark.parametrize("side", ["inside", "beyond"])
@pytest.mark.parametrize("topology", ["ring", "fully_connected", "mesh"])
def test_a_topology_that_no_run_on_the_accelerator_had_is_a_prior(side: str, topology: str) -> None:
    usual, other = prediction_band(gpt()), prediction_band(gpt(**{f"{side}_topology": topology}))
    assert usual.trust == "measured"
    assert other.trust == "prior"
    told = f"no measured run on a100_80 had the topology {topology} {side} its scale-up domain"
    assert other.reason == told
    assert other.low < usual.low < 1 < usual.high < other.high


@pytest.mark.parametrize("rate", ["2.4 GB/s", "41 GB/s"])
def test_a_bandwidth_far_from_all_measured_ones_is_a_prior(rate: str) -> None:
    band = prediction_band(gpt(beyond_bandwidth=rate))
    assert band.trust == "prior"
    number = rate.split()[0]
    assert band.reason == (
        f"no measured run on a100_80 had {number} GB/s beyond its scale-up domain, far from the "
        "5.03 to 20.1 GB/s measured"
    )


@pytest.mark.parametrize("rate", ["2.6 GB/s", "25 GB/s", "40 GB/s"])
def test_bandwidths_up_to_twice_from_measured_ones_count_as_measured(rate: str) -> None:
    assert prediction_band(gpt(beyond_bandwidth=rate)).trust == "measured"


def test_oversubscription_counts_as_so_much_less_bandwidth() -> None:
    assert prediction_band(gpt(beyond_oversubscription=8)).trust == "measured"
    far = prediction_band(gpt(beyond_oversubscription=16)).reason
    assert "had 1.56 GB/s, 16 times oversubscribed, beyond its scale-up domain" in far


def test_runs_on_other_accelerators_speak_where_none_left_its_domain() -> None:
    inside = load_run(GPT, {"plan.pp": 1, "plan.dp": 128})
    alone = inside.model_copy(
        update={"platform": inside.platform.model_copy(update={"dimensions": gpt_inside()})}
    )
    mixed = networks(alone)
    assert "beyond its scale-up domain" in mixed.lacking(gpt().platform, "a100_80")
    other = load_run(GPT, {"platform.npu": "h100_80"})
    assert networks(alone, other).lacking(gpt().platform, "a100_80") == ""
    ring = gpt(beyond_topology="ring").platform
    assert "topology ring" in networks(alone, other).lacking(ring, "a100_80")


def gpt_inside() -> tuple[object, ...]:
    return gpt().platform.dimensions[:1]


def test_joints_tell_the_side_of_each_dimension() -> None:
    assert list(joints_of(gpt().platform)) == [
        Joint(side="inside", topology="switch", bytes_per_s=300e9),
        Joint(side="beyond", topology="switch", bytes_per_s=25e9),
    ]


def test_tables_of_networks_come_back_and_broken_ones_are_refused(tmp_path: Path) -> None:
    path, known = tmp_path / "networks.csv", networks(gpt(), gpt(beyond_bandwidth="50 GB/s"))
    known.write(path)
    assert Networks.read(path) == known
    assert [(one.side, one.runs) for one in known.measured] == [("beyond", 2), ("inside", 2)]
    whole = path.read_text(encoding="utf-8")
    for broken in (
        whole.replace("25,", "x,"),
        whole.replace("side", "place"),
        whole.replace("beyond", "outside"),
        whole.replace("25,50", "50,25"),
    ):
        assert broken != whole
        path.write_text(broken, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"networks\.csv"):
            Networks.read(path)


def test_every_accelerator_with_measured_runs_has_a_measured_network() -> None:
    judged = shipped(TRAINING)
    assert judged.networks is not None
    assert {one.npu for one in judged.networks.measured} == judged.known("npu")


@pytest.mark.parametrize(
    ("tp", "order", "layout"),
    [
        (8, None, "pipeline"),
        (16, None, "tensor across domains"),
        (4, ["cp", "tp", "ep", "dp", "pp"], "pipeline"),
    ],
)
def test_tensor_parallelism_beyond_the_domain_is_a_layout_of_its_own(
    tp: int, order: list[str] | None, layout: str
) -> None:
    changes = {"plan.tp": tp, "plan.pp": 8, "plan.dp": 128 // tp, "plan.zero_stage": 1}
    run = load_run(GPT, changes | ({"plan.order": order} if order else {}))
    assert layout_of(run) == layout


def test_the_stride_of_a_group_decides_whether_it_leaves_the_domain() -> None:
    changes = {"plan.tp": 8, "plan.pp": 8, "plan.dp": 16}
    outer = load_run(GPT, changes | {"plan.order": ["dp", "cp", "ep", "tp", "pp"]})
    assert layout_of(outer) == "tensor across domains"


def test_the_few_runs_with_tensor_groups_across_servers_are_counted_by_themselves() -> None:
    band = prediction_band(load_run(GPT, {"plan.tp": 16, "plan.pp": 4}))
    assert band.trust == "few runs"
    assert "tensor across domains" in band.reason
