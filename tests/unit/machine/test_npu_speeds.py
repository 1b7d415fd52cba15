"""NPUs that compute slower than the rest: what a run waits for, and what is refused."""

from typing import Any

import pytest

from simcore import ConfigError, lower_bounds, simulate_run
from simcore.config import load_run
from simcore.machine.speeds import read_speeds


def table(scale: str, **plan: int) -> dict[str, Any]:
    switch = {"topology": "switch", "npus": 4, "bandwidth": "100 GB/s", "latency": "500 ns"}
    return {
        "version": 1,
        "workload": {"model": "gpt3_13b", "sequence": 512, "global_batch": 4},
        "platform": {"npu": "a100_80", "dimensions": [switch], "npu_scale": scale},
        "plan": plan,
        "system": {"all_reduce": "ring", "chunks": 1},
    }


def seconds(scale: str, **plan: int) -> float:
    return simulate_run(load_run(table(scale, **plan))).iteration_time_s


def test_a_speed_of_one_changes_nothing_and_follows_every_npu() -> None:
    assert seconds("0:1", dp=4) == seconds("", dp=4)


def test_a_group_is_as_slow_as_its_slowest_npu() -> None:
    every, one = seconds("0-3:0.5", dp=4), seconds("2:0.5", dp=4)
    assert 0.99 * every < one <= every  # while it computes, others' all-reduces are done early
    assert one > 1.2 * seconds("", dp=4)


def test_a_slow_stage_holds_its_pipeline_by_less_than_a_slow_machine() -> None:
    plan = {"pp": 4, "micro_batch": 1}
    assert seconds("", **plan) < seconds("3:0.5", **plan) < seconds("0-3:0.5", **plan)


def test_lower_bounds_hold() -> None:
    """Those of equal NPUs, which are not slower."""
    slow, equal = (lower_bounds(table(scale, dp=4), [{"plan.tp": 1}]) for scale in ("1:0.9", ""))
    assert slow.tolist() == equal.tolist()
    assert slow[0] <= seconds("1:0.9", dp=4)


def test_a_part_of_a_machine_has_the_speeds_of_its_npus() -> None:
    platform = load_run(table("1:0.9,3:0.25", dp=4)).platform
    assert platform.scale_of([2, 3]) == "1:0.25"
    assert platform.scale_of([0]) == ""


@pytest.mark.parametrize(
    ("scale", "rule"),
    [
        ("1:1.5", "platform.npu_scale: speeds must be at most 1"),
        ("4:0.5", r"platform.npu_scale: must name NPUs, 0 to 3, but got 4"),
        ("slow", "must list NPUs with their speeds"),
    ],
)
def test_speeds_that_break_a_rule_are_refused(scale: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        load_run(table(scale, dp=4))


def test_ranges_and_numbers_are_read() -> None:
    assert read_speeds("0:0.5, 2-3:2", 5, "here").tolist() == [0.5, 1.0, 2.0, 2.0, 1.0]
