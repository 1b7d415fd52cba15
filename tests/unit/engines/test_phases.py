"""How a collective is cut and which phases a chunk goes through."""

import pytest

from simcore.engines.collectives.phases import cut, phases_of_chunk, runnable
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.rows import phase_row
from simcore.machine import Dimension
from simcore.terms import CollectiveKind

RING = Dimension(topology="ring", npus=8, bandwidth_bytes_per_s=50e9, latency_s=0.0)
GRID = Placement(extent=(4, 1, 8), stride=(1, 1, 1))


def test_remainder_makes_one_more_chunk_of_full_size() -> None:
    assert cut(CollectiveKind.ALL_REDUCE, 1_000_003, 4, 8) == (5, 250_000)


def test_chunk_holds_at_least_a_byte_per_member() -> None:
    assert cut(CollectiveKind.ALL_REDUCE, 4, 4, 64) == (4, 64)


def test_small_all_gather_has_one_byte_chunks() -> None:
    assert cut(CollectiveKind.ALL_GATHER, 3, 8, 64) == (3, 1)


def passes(kind: CollectiveKind, local_bw_aware: bool) -> list[tuple[int, str, int]]:
    """Dimension and kind of each phase, and the size that it leaves of 1,024 bytes."""
    phases = phases_of_chunk(kind, GRID, ("ring",) * 3, local_bw_aware)
    found, size = [], 1024
    for phase in phases:
        row, _ = phase_row(phase, RING)
        size = size * row.result_times // row.result_over
        found.append((phase.dimension, phase.kind.name, size))
    return found


def test_bandwidth_aware_all_reduce_scatters_inwards_and_gathers_back() -> None:
    assert passes(CollectiveKind.ALL_REDUCE, True) == [
        (0, "REDUCE_SCATTER", 256),
        (2, "ALL_REDUCE", 256),
        (0, "ALL_GATHER", 1024),
    ]


def test_baseline_all_reduce_runs_whole_on_every_dimension() -> None:
    assert passes(CollectiveKind.ALL_REDUCE, False) == [
        (0, "ALL_REDUCE", 1024),
        (2, "ALL_REDUCE", 1024),
    ]


def test_all_gather_starts_with_the_outermost_dimension() -> None:
    gathers = passes(CollectiveKind.ALL_GATHER, True)
    assert gathers == [(2, "ALL_GATHER", 8192), (0, "ALL_GATHER", 32768)]


@pytest.mark.parametrize(
    ("name", "kind", "members", "stand_in"),
    [
        ("halving_doubling", CollectiveKind.ALL_REDUCE, 6, "ring"),
        ("halving_doubling", CollectiveKind.ALL_TO_ALL, 8, "direct"),
        ("double_binary_tree", CollectiveKind.ALL_GATHER, 12, "ring"),
        ("halving_doubling", CollectiveKind.ALL_REDUCE, 8, "halving_doubling"),
        ("direct3", CollectiveKind.ALL_TO_ALL, 5, "direct3"),
    ],
)
def test_another_algorithm_stands_in_where_the_chosen_one_cannot_run(
    name: str, kind: CollectiveKind, members: int, stand_in: str
) -> None:
    assert runnable(name, kind, members) == stand_in
