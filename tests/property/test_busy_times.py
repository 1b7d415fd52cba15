"""Busy times that the engine adds up as it runs equal those of the nodes' recorded times."""

import numpy as np
import pytest
from random_systems import random_system

from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineInput, EngineOutput
from simcore.engines.events.programs import Program
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError
from simcore.terms import NodeKind

ACCOUNT_OF_KIND = {
    NodeKind.COLLECTIVE: 1,
    NodeKind.SEND: 1,
    NodeKind.RECV: 1,
    NodeKind.MEM_LOAD: 3,
    NodeKind.MEM_STORE: 3,
    NodeKind.INVALID: 4,
}


def account(program: Program, position: int) -> int:
    kind = NodeKind(int(program.kind[position]))
    if kind == NodeKind.COMPUTE:
        return 2 if program.on_cpu[position] else 0
    return ACCOUNT_OF_KIND[kind]


def union_ns(intervals: list[tuple[int, int]]) -> int:
    covered, reach = 0, 0
    for start, end in sorted(intervals):
        covered += max(end - max(start, reach), 0)
        reach = max(reach, end)
    return covered


def expected(inputs: EngineInput, output: EngineOutput, npu: int) -> tuple[list[int], int]:
    """Per account the union of the nodes' intervals, -1 where none ran; and the last end."""
    program = inputs.programs[int(inputs.program_of_npu[npu])]
    start, end = output.node_start_ns[npu].tolist(), output.node_end_ns[npu].tolist()
    intervals: list[list[tuple[int, int]]] = [[] for _ in range(5)]
    for position, times in enumerate(zip(start, end, strict=True)):
        if times[1] >= 0:
            intervals[account(program, position)].append(times)
    return [union_ns(found) if found else -1 for found in intervals], max(end)


@pytest.mark.parametrize("run", [run_unfolded, run_folded])
def test_busy_times_are_the_unions_of_the_nodes_intervals(run: object) -> None:
    compared = overlapping = 0
    for seed in range(120):
        inputs = random_system(seed)
        try:
            output = run(inputs)  # type: ignore[operator]
        except ConfigError:
            continue
        for npu in np.flatnonzero(output.finish_ns >= 0).tolist():
            busy, last = expected(inputs, output, npu)
            assert output.busy_ns[npu].tolist() == busy, (seed, npu)
            assert output.last_end_ns[npu] == last
            compared += 1
            overlapping += busy[0] + busy[1] > last
    assert compared > 300
    assert overlapping > 20
