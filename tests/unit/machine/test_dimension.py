import pytest

from simcore.machine import Dimension


@pytest.mark.parametrize(
    ("topology", "links", "link_bytes_per_s"),
    [
        ("ring", 2, 210e9),
        ("fully_connected", 7, 60e9),
        ("switch", 1, 420e9),
    ],
)
def test_the_aggregate_bandwidth_is_split_over_the_links(
    topology: str, links: int, link_bytes_per_s: float
) -> None:
    dimension = Dimension.build(
        topology=topology, npus=8, bandwidth_bytes_per_s=420e9, latency_s=1e-6
    )
    assert dimension.links_per_npu == links
    assert dimension.link_bandwidth_bytes_per_s == pytest.approx(link_bytes_per_s)
