"""The critical path accounts for every nanosecond of an iteration."""

from itertools import pairwise
from pathlib import Path

import pytest

from simcore.config import load_run
from simcore.engines.attribution import Cause
from simcore.engines.critical_path import CriticalPath, critical_path
from simcore.simulation import explain_run, run_with_iteration

RUNS = Path(__file__).parents[3] / "configs/runs"
GPT = RUNS / "gpt3_175b_1024_a100.yaml"
T5 = RUNS / "t5_11b_1024_tpu_v3.yaml"


def _share(path: CriticalPath, *causes: Cause) -> int:
    return sum(ns for reason, ns in path.by_reason_ns().items() if reason.cause in causes)


@pytest.mark.parametrize("file", [GPT, T5], ids=lambda file: file.stem)
def test_the_parts_of_the_path_follow_each_other_from_0_to_the_end_of_the_iteration(
    file: Path,
) -> None:
    run = load_run(file)
    _, iteration = run_with_iteration(run, every_node=True)
    assert iteration.nodes is not None
    path = critical_path(iteration.nodes, run.platform.dimensions)
    assert path.parts[0].start_ns == 0
    assert all(a.end_ns == b.start_ns for a, b in pairwise(path.parts))
    assert all(part.start_ns < part.end_ns for part in path.parts)
    assert sum(path.by_reason_ns().values()) == path.time_ns == iteration.finish_ns.max()


def test_every_part_is_explained_by_the_node_that_ran_then() -> None:
    run = load_run(GPT)
    _, iteration = run_with_iteration(run, every_node=True)
    assert iteration.nodes is not None
    stages = iteration.nodes.graph.stages
    first = [sum(stage.nodes for stage in stages[:at]) for at in range(len(stages))]
    ran = iteration.nodes.execution
    for part in critical_path(iteration.nodes, run.platform.dimensions).parts:
        at = first[part.stage] + part.node
        assert part.reason.cause is not Cause.WAIT
        assert ran.start_ns[at] <= part.start_ns
        assert part.end_ns <= ran.end_ns[at]


def test_faster_links_leave_less_communication_on_the_path() -> None:
    slow = explain_run(load_run(T5))
    fast = explain_run(load_run(T5, {"platform.dimensions[0].bandwidth": "1000 TB/s"}))
    communication = (Cause.COLLECTIVE, Cause.MESSAGE)
    assert _share(fast, *communication) < _share(slow, *communication)
    assert fast.time_ns < slow.time_ns
