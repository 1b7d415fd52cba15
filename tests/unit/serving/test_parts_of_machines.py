"""A pool of a service takes a part of the machine: which parts there are, and how fast they are."""

from typing import Any

import pytest

from simcore.errors import InfeasibleError
from simcore.machine import load_platform
from simcore.serving.service import part_of


@pytest.mark.parametrize(
    ("sizes", "first", "npus", "part"),
    [
        ((8, 4), 0, 8, (8,)),
        ((8, 4), 8, 24, (8, 3)),
        ((8, 4), 0, 4, (4,)),
        ((8, 4), 4, 4, (4,)),
        ((8, 4, 2), 32, 32, (8, 4)),
    ],
)
def test_a_pool_is_a_machine_of_its_own(
    sizes: tuple[int, ...], first: int, npus: int, part: tuple[int, ...]
) -> None:
    found = part_of(_machine(sizes), first, npus, "pool")
    assert tuple(dimension.npus for dimension in found.dimensions) == part
    assert found.npus == npus


@pytest.mark.parametrize(
    ("topology", "part"), [("switch", 1.0), ("mesh", 1.0), ("fully_connected", 3 / 7)]
)
def test_a_pool_has_the_bandwidth_of_the_links_within_it(topology: str, part: float) -> None:
    whole = _machine((8, 4), topology)
    (cut,) = part_of(whole, 4, 4, "pool").dimensions
    given = whole.dimensions[0]
    assert cut.bandwidth_bytes_per_s == pytest.approx(part * given.bandwidth_bytes_per_s)
    same = cut.link_bandwidth_bytes_per_s == pytest.approx(given.link_bandwidth_bytes_per_s)
    assert same, "a link stays as fast as it is"


@pytest.mark.parametrize(
    ("sizes", "first", "npus", "topology"),
    [
        ((8, 4), 0, 12, "switch"),
        ((8, 4), 4, 8, "switch"),
        ((8, 4), 6, 4, "switch"),
        ((8, 4), 0, 1, "switch"),
        ((8, 4), 0, 16, "ring"),
    ],
)
def test_a_pool_that_is_no_whole_part_is_refused(
    sizes: tuple[int, ...], first: int, npus: int, topology: str
) -> None:
    with pytest.raises(InfeasibleError) as error:
        part_of(_machine(sizes, topology), first, npus, "pool")
    assert error.value.rule == "pools_tile_machine"


def _machine(sizes: tuple[int, ...], topology: str = "switch") -> Any:
    link = {"topology": topology, "bandwidth": "50 GB/s", "latency": "1 us"}
    dimensions = [{**link, "npus": size} for size in sizes]
    return load_platform({"npu": "h100_80", "dimensions": dimensions})
