"""Collectives alone on a machine: what the network tells, settings of routers, a wafer's cores."""

import pytest

from simcore import ConfigError
from simcore.engines.collectives.alone import Alone, Asked, times_alone
from simcore.machine import Dimension, Platform, load_npu, load_platform

SIZE = 1 << 16


def on_a_mesh(algorithm: str, backend: str, **routers: object) -> Alone:
    """An all-reduce on 3 by 3 NPUs."""
    line = Dimension(topology="mesh", npus=3, bandwidth_bytes_per_s=64e9, latency_s=1e-9)
    platform = Platform(npu=load_npu("dojo_node"), dimensions=(line, line))
    asked = Asked(collective="all_reduce", size_bytes=SIZE, backend=backend, routers=routers)
    return times_alone(platform, asked, [(algorithm,)])[0]


def test_a_network_of_flits_tells_whether_and_where_links_are_shared() -> None:
    plain, alone = on_a_mesh("ring", "congestion_unaware"), on_a_mesh("ring", "flit")
    assert plain.notes == ()
    assert plain.last_ns <= alone.last_ns <= 1.1 * plain.last_ns
    assert "no two of them shared a link" in alone.notes[0]
    shared = on_a_mesh("direct", "flit")
    assert shared.last_ns > 1.5 * on_a_mesh("direct", "congestion_unaware").last_ns
    assert "waited for others on links, most on the link from node" in shared.notes[0]


def test_routers_are_set_where_flits_are_followed() -> None:
    # longer flits take longer cycles, of which each router takes four
    assert on_a_mesh("ring", "flit", flit="512 B").last_ns > on_a_mesh("ring", "flit").last_ns
    with pytest.raises(ConfigError, match="--set: must set no routers without --backend flit"):
        on_a_mesh("ring", "congestion_unaware", flit="4 B")
    with pytest.raises(ConfigError, match=r"routers\.flt: unknown key"):
        on_a_mesh("ring", "flit", flt="4 B")


def test_cores_of_a_wafer_add_up_along_both_dimensions_of_its_mesh() -> None:
    wafer, size = load_platform("wse2_wafer"), 64 << 20
    (found,) = times_alone(wafer, Asked(collective="all_reduce", size_bytes=size), [("ring",)])
    assert found.sent_bytes == pytest.approx(2 * size * (1 - 1 / (757 * 996)), rel=1e-3)
    assert found.last_ns * 4.4 >= found.sent_bytes  # 4.4 bytes a ns out of a core each way
    asked = Asked(collective="all_reduce", size_bytes=size, backend="flit")
    with pytest.raises(ConfigError, match="at most 16,384 NPUs"):
        times_alone(wafer, asked, [("ring",)])
