"""Fabrics: ports are used once, nothing shrinks as endpoints grow, closed forms of the papers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.costs.bill.builds import Build, count_build
from dse.costs.fabrics import FABRICS, FabricCounts
from dse.costs.fabrics.clos import clos, least_tiers, most_endpoints
from simcore import Catalogue, ConfigError, InfeasibleError, shipped_parts

RADIX = st.integers(2, 36).map(lambda half: 2 * half)


def counts(topology: str, **params: object) -> FabricCounts:
    return FABRICS[topology].from_file_data(params, at="params").counts()


@given(radix=RADIX, part=st.floats(0.001, 1), tiers=st.integers(1, 3))
def test_no_switch_has_more_links_than_ports(radix: int, part: float, tiers: int) -> None:
    endpoints = max(1, int(part * most_endpoints(radix, tiers)))
    found = clos(endpoints, radix, tiers)
    stages = [link or 0 for link in found.links]
    ends = [found.links_host + sum(stages[:1])]  # below and above each tier
    ends += [sum(stages[tier - 1 : tier + 1]) for tier in range(1, tiers)]
    for switches, used in zip(found.switches, ends, strict=True):
        assert used <= switches * radix


@given(radix=RADIX, part=st.floats(0.001, 1), tiers=st.integers(1, 3))
def test_one_more_endpoint_never_needs_fewer_switches_or_links(
    radix: int, part: float, tiers: int
) -> None:
    endpoints = max(1, int(part * (most_endpoints(radix, tiers) - 1)))
    fewer, more = clos(endpoints, radix, tiers), clos(endpoints + 1, radix, tiers)
    assert more.switches_total >= fewer.switches_total
    assert (more.links_total or 0) >= (fewer.links_total or 0)


@given(radix=RADIX, tiers=st.integers(2, 3))
def test_a_full_fat_tree_has_the_published_size(radix: int, tiers: int) -> None:
    found = counts(f"clos{tiers}", radix=radix)
    if tiers == 2:
        assert (found.endpoints, found.switches_total) == (radix**2 // 2, 3 * radix // 2)
    else:
        assert (found.endpoints, found.switches_total) == (radix**3 // 4, 5 * radix**2 // 4)
    assert found.links_total == tiers * found.endpoints


@given(endpoints=st.integers(1, 60_000), radix=st.sampled_from([32, 40, 64, 128, 144]))
def test_the_least_tiers_hold_and_one_fewer_does_not(endpoints: int, radix: int) -> None:
    try:
        tiers = least_tiers(endpoints, radix)
    except InfeasibleError:
        assert endpoints > most_endpoints(radix, 3)
        return
    assert endpoints <= most_endpoints(radix, tiers)
    assert tiers == 1 or endpoints > most_endpoints(radix, tiers - 1)


@given(rails=st.integers(1, 16), joined=st.integers(1, 3000), planes=st.integers(1, 4))
def test_rails_and_planes_add_up(rails: int, joined: int, planes: int) -> None:
    one = clos(joined, 64, least_tiers(joined, 64))
    every = counts("rail_only_planes", gpus=rails * joined, rails=rails, radix=64, planes=planes)
    assert every.switches_total == rails * planes * one.switches_total
    assert every.links_total == rails * planes * (one.links_total or 0)
    assert every.endpoints == rails * joined


def test_a_cable_that_bundles_the_ports_of_its_planes_counts_once() -> None:
    unit = {"su": 2, "nodes_per_su": 64, "rails": 8, "radix": 128, "planes": 2, "port_gbps": 400}
    apart, bundled = counts("clos2_planes", **unit), counts("clos2_planes", **unit, nic_gbps=800)
    assert bundled.switches == apart.switches
    assert apart.links_total == 2 * (bundled.links_total or 0)


@given(q=st.integers(3, 40), p=st.integers(1, 20))
def test_slim_fly_is_what_its_paper_says_or_refused(q: int, p: int) -> None:
    if q % 4 == 2:
        with pytest.raises(InfeasibleError, match="4w"):
            counts("slimfly", q=q, p=p)
        return
    found = counts("slimfly", q=q, p=p)
    assert found.switches_total == 2 * q * q
    assert abs(2 * (found.links[0] or 0) / found.switches_total - 1.5 * q) <= 0.5


def test_closed_forms_of_other_papers() -> None:
    assert counts("hyperx", dims=[4, 5], p=3).links == ((4 * 5 * (3 + 4)) // 2,)
    cube = counts("bcube", n=8, levels=4)  # 4,096 servers: C. Guo et al., SIGCOMM 2009
    assert (cube.endpoints, cube.switches_total, cube.links_host) == (4096, 2048, 16384)
    assert counts("bcube", n=8, levels=3, endpoints=4096) == cube  # counted from level 0
    assert counts("torus", dims=[4, 2, 1]).links == (8 + 4,)
    assert counts("dragonfly", p=2, a=4, h=2).endpoints == 72  # as many groups as links allow


@pytest.mark.parametrize(
    ("topology", "params", "told"),
    [
        ("clos2", {"radix": 64, "endpoints": 2049}, "64 leaves, not 65"),
        ("clos3", {"radix": 4, "endpoints": 17}, "16, not 17"),
        ("clos2_rail", {"su": 1, "nodes_per_su": 33, "rails": 8, "radix": 64}, "33 servers"),
        ("rail_only", {"gpus": 100, "domain": 8, "radix": 64}, "do not divide"),
        ("rail_only", {"gpus": 16384, "rails": 8, "radix": 64, "tiers": 1}, "need 2 tiers"),
        ("dragonfly", {"p": 1, "a": 2, "h": 1, "g": 9}, "not the 8 others"),
        ("torus3d_ocs", {"dims": [4, 4, 6]}, "multiple of 4"),
        ("torus3d_ocs", {"cubes": 65, "ocs_ports": 128}, "64 cubes, not 65"),
    ],
)
def test_what_cannot_be_built_is_refused(
    topology: str, params: dict[str, object], told: str
) -> None:
    with pytest.raises(InfeasibleError, match=told):
        counts(topology, **params)


def test_a_parameter_of_the_wrong_kind_is_named() -> None:
    with pytest.raises(ConfigError, match="radix"):
        counts("clos2", radix="many")


def test_a_fabric_of_pods_without_oversubscription_is_a_fat_tree() -> None:
    # k-ary fat tree, k = 8: 128 hosts in 8 pods of 16, k^2/2 leaves and spines, k^2/4 cores
    pods = FABRICS["clos3_oversub"].from_file_data(
        {"pods": 8, "gpus_per_pod": 16, "gpus_per_rack": 4, "radix": 8}, at=""
    )
    assert pods.counts().switches == (32, 32, 16)
    assert pods.counts().links == (128, 128)


def test_oversubscription_above_pods_thins_the_cores_alone() -> None:
    # spines of 16 ports: 14 down, 2 up; 896 links below them carry seven times the 128 above
    params = {"pods": 8, "gpus_per_pod": 112, "gpus_per_rack": 8, "radix": 16}
    thin = FABRICS["clos3_oversub"].from_file_data({**params, "top_oversubscription": 7}, at="")
    assert thin.counts().switches == (112, 64, 8)
    assert thin.counts().links == (896, 128)


def test_two_zones_of_fire_flyer_have_its_switches() -> None:
    # Fire-Flyer AI-HPC (SC 2024), Table III: 122 switches for two zones of 800 ports
    params = {"zones": 2, "leaf": 40, "spine": 20, "radix": 40, "ports_per_zone": 800}
    counts = FABRICS["clos2_zones"].from_file_data(params, at="").counts()
    assert (counts.switches_total, counts.links_host, counts.links_total) == (122, 1600, 3200)


def test_power_alone_is_told_where_no_network_is() -> None:
    # SemiAnalysis, 100,000 H100 clusters: 700 W + 575 W each, a tenth beside them: 140 MW
    build = Build(
        case="x",
        topology="unspecified",
        params={"gpus": 100_000, "gpu_w": 700, "host_w": 575, "overhead": 0.1},
    )
    row = count_build(build, Catalogue(shipped_parts()), {}).row()
    assert float(str(row["power_w"])) == pytest.approx(140.25e6)
    assert row["switches_total"] == row["network_cost_usd"] == ""


def test_what_a_price_is_missing_for_is_said() -> None:
    def reason(topology: str, nodes: int | None = None, **params: object) -> str:
        build = Build(case="x", topology=topology, params=params, npus=512, nodes=nodes)
        return count_build(build, Catalogue(shipped_parts()), {}).reason

    assert "port_gbps is not told" in reason("clos2", radix=64, endpoints=512)
    odd = reason("clos2", radix=48, endpoints=512, port_gbps=400, nodes=64)
    assert "no switch of 48 ports at 400 Gb/s" in odd
    assert "accelerators and nodes are not told" in reason("clos2", radix=64, endpoints=512)
    few = reason("clos2", radix=64, endpoints=512, port_gbps=400, nodes=128)
    assert "no server of 4 accelerators and 4 cards of 400 Gb/s" in few
    assert "gpus and gpu_w" in reason("unspecified")


def test_endpoints_of_storage_do_not_hide_the_servers() -> None:
    # Fire-Flyer: 1,250 servers with one port each, and 350 ports of storage
    build = Build(
        case="x",
        topology="clos3",
        params={"radix": 40, "port_gbps": 200, "endpoints": 1600},
        endpoints=1600,
        npus=10_000,
        nodes=1250,
    )
    found = count_build(build, Catalogue(shipped_parts()), {}).servers
    assert found is not None
    assert found.power_w == 1250 * 2500
