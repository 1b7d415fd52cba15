"""Sizes and times at the edge of 64 bits."""

from dataclasses import replace

import pytest
from engine_runs import collective, dimension, options, program, receive, run_of, send

from simcore.engines.events.input import SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError, SimulationError
from simcore.terms import CollectiveKind

TIB = 1 << 40
EIB = 1 << 60


@pytest.mark.parametrize("rendezvous", [False, True])
def test_messages_of_more_than_2_gib_arrive(rendezvous: bool) -> None:
    programs = [program([send(1, 3 * TIB)]), program([receive(0, 3 * TIB)])]
    system = SystemOptions(rendezvous=rendezvous)
    output = run_unfolded(run_of([dimension("ring", 2)], programs, system))
    control_ns = 500 + 8192 // 50
    expected_ns = int(500 + 3 * TIB / 50) + rendezvous * control_ns
    assert output.finish_ns.tolist() == [expected_ns, expected_ns]


@pytest.mark.parametrize("rendezvous", [False, True])
def test_collectives_of_exbibytes_take_their_time(rendezvous: bool) -> None:
    system = replace(options("ring"), rendezvous=rendezvous, local_mem_bytes_per_ns=0.0)
    nodes = [collective(CollectiveKind.REDUCE_SCATTER, EIB)]
    output = run_unfolded(run_of([dimension("ring", 4)], [program(nodes)], system))
    assert output.finish_ns[0] == pytest.approx(3 * EIB / 4 / 50, rel=1e-9)
    assert output.sent_bytes - rendezvous * 12 * 8192 == 3 * EIB


def test_a_gather_beyond_64_bits_is_refused() -> None:
    nodes = [collective(CollectiveKind.ALL_GATHER, 2 * EIB)]
    with pytest.raises(ConfigError, match=r"4 NPUs gather must be at most 2\^62 bytes"):
        run_unfolded(run_of([dimension("ring", 4)], [program(nodes)], options("ring")))


def test_a_run_of_centuries_ends_with_a_sentence() -> None:
    slow = dimension("ring", 2, bytes_per_ns=1e-12)
    programs = [program([send(1, TIB)]), program([receive(0, TIB)])]
    with pytest.raises(SimulationError, match="73 years"):
        run_unfolded(run_of([slow], programs, SystemOptions()))


def test_too_many_chunks_are_refused() -> None:
    with pytest.raises(ConfigError, match="chunks: must be at most 100000"):
        run_unfolded(run_of([dimension("ring", 2)], [program([])], options("ring", chunks=10**6)))
