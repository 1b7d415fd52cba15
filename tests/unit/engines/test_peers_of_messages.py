"""A message goes to an NPU of the machine, or the run does not begin."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simcore import ConfigError
from simcore.engines.events.input import CustomCollectives, EngineInput
from simcore.engines.events.run import run_unfolded
from simcore.terms import CollectiveKind

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))

from engine_runs import collective, dimension, options, program, receive, run_of, send

NPUS = 4


def exchange(first: Mapping[str, Any], second: Mapping[str, Any]) -> EngineInput:
    """NPU 0 does *first*, NPU 1 does *second*, the others do nothing for long."""
    idle = {"duration_ns": 1}
    programs = [program([one]) for one in (first, second, idle, idle)]
    return run_of([dimension("ring", NPUS)], programs, options("ring"))


def test_ends_that_are_npus_meet() -> None:
    assert int(run_unfolded(exchange(send(1), receive(0))).last_end_ns.max()) > 500


@pytest.mark.parametrize("peer", [-(2**40), -1, NPUS, NPUS + 1, 2**40])
def test_a_send_to_no_npu_is_refused_and_names_the_node(peer: int) -> None:
    with pytest.raises(
        ConfigError, match=r"programs\[0\] node 0: the peer must be an NPU id"
    ) as told:
        run_unfolded(exchange(send(peer), receive(0)))
    assert f"got {peer}" in str(told.value)


@pytest.mark.parametrize("peer", [NPUS, NPUS + 1, 2**40])
def test_a_receive_from_no_npu_is_refused_and_names_the_node(peer: int) -> None:
    with pytest.raises(ConfigError, match=r"programs\[1\] node 0: the peer must be an NPU id"):
        run_unfolded(exchange(send(1), receive(peer)))


def custom(first: Mapping[str, Any], second: Mapping[str, Any]) -> EngineInput:
    """All NPUs run a collective in which the first two members do what is given."""
    whole = run_of(
        [dimension("ring", NPUS)],
        [program([collective(CollectiveKind.ALL_REDUCE, 4096)])],
        options("ring"),
    )
    idle = program([{"duration_ns": 1}])
    parts = (program([first]), program([second]), idle, idle)
    by_kind = {int(CollectiveKind.ALL_REDUCE): parts}
    return replace(whole, custom=CustomCollectives(by_kind=by_kind))


def test_members_of_a_custom_collective_meet() -> None:
    assert int(run_unfolded(custom(send(1), receive(0))).last_end_ns.max()) > 500


@pytest.mark.parametrize("peer", [-(2**40), -1, NPUS, 2**40])
def test_a_send_to_no_member_of_a_custom_collective_is_refused(peer: int) -> None:
    with pytest.raises(ConfigError, match="peers of a custom collective must be") as told:
        run_unfolded(custom(send(peer), receive(0)))
    assert f"got {peer}" in str(told.value)
