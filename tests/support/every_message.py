"""Iterations of which every NPU and every message is followed, none for others."""

import pytest

from simcore.engines import each_npu
from simcore.engines.choose import Choice, Engine
from simcore.engines.events.run import run_unfolded
from simcore.engines.iteration import Iteration, IterationRunner
from simcore.workload.graph import TrainingGraph

FOLLOW = Choice(engine=Engine.EVENTS, reason="asked for")


def follow_every_message(runner: IterationRunner, graph: TrainingGraph) -> Iteration:
    """The iteration of *graph*, NPU by NPU."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(each_npu, "run_folded", run_unfolded)
        return runner.run_graph(graph, FOLLOW)
