"""A template that has been filled before says what the whole file with the values says."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from simcore import ConfigError, Run, RunTemplate, set_path
from simcore.config.filling import Filling

TABLE: dict[str, Any] = {
    "version": 1,
    "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 64},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1.7 us"},
        ],
    },
    "plan": {"tp": 8, "dp": 4},
}
RIGHT: dict[str, list[object]] = {
    "workload.model": ["gpt3_13b", "gpt3_175b"],
    "workload.global_batch": [1, 64],
    "plan.tp": [1, 2],
    "plan.sequence_parallel": [True, False, 1],
    "plan.recompute": ["none", "full"],
    "platform.npu": ["a100_80", "h100_80"],
    "platform.npu.memory": ["40 GB", "80 GB"],
    "platform.dimensions[0].bandwidth": ["300 GB/s", "3e11 B/s"],
    "platform.dimensions[1].npus": [2, 4, 4.0],
    "platform.dimensions[1].latency": ["1 us", "1.7 us"],
    "platform.name": ["mine"],
    "system.all_reduce": ["ring", ["ring", "direct"]],
    "system.chunks": [1, 4],
    "backend": ["congestion_unaware", "congestion_aware"],
}
WRONG: dict[str, list[object]] = {
    "workload.model": ["gpt4", 3],
    "workload.global_batch": [True, 0, 1.5],
    "plan.tp": [True, 0, "many"],
    "plan.tpp": [1],
    "plan.recompute": ["some"],
    "platform": [3, "dgx"],
    "platform.npu": ["z100", 1],
    "platform.npu.memory": [80, "80 GHz"],
    "platform.dimensions": [[]],
    "platform.dimensions[0].bandwidth": [300, "300 GHz", "-1 GB/s"],
    "platform.dimensions[1].npus": [True, 1],
    "platform.dimensions[5].npus": [2],
    "system.all_reduce": ["rign", ["ring", "rign"], 3],
    "backend": [3, "congestion"],
    "nothing": [1],
    "[0].plan": [1],
}
TEMPLATE = RunTemplate.from_table(TABLE)


def values_of(*tables: dict[str, list[object]]) -> st.SearchStrategy[dict[str, object]]:
    choices = [(path, value) for table in tables for path, own in table.items() for value in own]
    return st.lists(st.sampled_from(choices), max_size=6).map(dict)


def outcome(values: dict[str, object]) -> Run | str:
    try:
        return TEMPLATE.with_values(values)
    except ConfigError as error:
        return str(error)


def outcome_of_the_whole_file(values: dict[str, object]) -> Run | str:
    """The same with every table checked again, and nothing remembered."""
    try:
        return TEMPLATE._checked_whole(values)
    except ConfigError as error:
        return str(error)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(values=values_of(RIGHT, WRONG))
@example(values={"plan.tp": 1})
@example(values={"plan.tp": True})
@example(values={"plan.dp": 0, "plan.tpp": 1})
def test_a_used_template_says_what_the_whole_file_says(values: dict[str, object]) -> None:
    assert outcome(values) == outcome_of_the_whole_file(values)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(values=values_of(RIGHT))
def test_values_by_path_mean_what_the_same_file_means(values: dict[str, object]) -> None:
    table: Any = TEMPLATE.table
    if "platform.npu" in values:  # a part of the accelerator replaces that of the file in place
        values = {path: v for path, v in values.items() if path != "platform.npu.memory"}
    for path, value in values.items():
        table = set_path(table, path, value)
    assert outcome(values) == RunTemplate.from_table(dict(table)).with_values({})


def test_tables_with_the_same_values_are_checked_once() -> None:
    paths = ("plan.tp", "platform.dimensions[1].npus")
    filling = Filling.of(TEMPLATE.table, paths)
    one, other = filling.run([8, 4]), filling.run([4, 4])
    assert one is not None
    assert other is not None
    assert one.workload is other.workload
    assert one.plan is not other.plan
    assert one.platform.npu is other.platform.npu
    assert one.platform.dimensions[1] is other.platform.dimensions[1]
    again = filling.run([8, 4])
    assert again is not None
    assert again.plan is one.plan
    assert again == one
