"""The same run three ways: by stages, node by node, and with every NPU and every message."""

from typing import NamedTuple

from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.engines.classes.run import Execution
from simcore.engines.collectives.ends import is_shared
from simcore.engines.each_npu import NodeTimes, execute_each, expand
from simcore.engines.iteration import Iteration, IterationRunner
from simcore.engines.stages.times import operator_times_ns, place_groups
from simcore.engines.stages.transfers import transfer_times_ns
from simcore.workload import build_graph


class ThreeWays(NamedTuple):
    """Attributes are what each way gives."""

    stages: Iteration
    nodes: Iteration
    every_npu: Execution


def run_three_ways(run: Run) -> ThreeWays:
    """The iteration of *run* where messages do not meet."""
    compute = COMPUTE_MODELS[run.compute]()
    runner = IterationRunner(run.platform, run.system, compute)
    stages = runner.run(run.workload, run.plan)
    graph = build_graph(run.workload, run.plan)
    nodes = runner.run_graph(graph)
    assert nodes.nodes is not None
    operator_ns = operator_times_ns(
        graph.operators, run.platform.npu, run.workload.precision, compute
    )
    placements = place_groups(graph.groups, run.platform.dimensions)
    shared = [axis for axis in graph.groups if is_shared(run.plan, axis)]
    times = NodeTimes(operator_ns, transfer_times_ns(graph.transfers, graph.groups, run.platform))
    inputs = expand(graph, run.platform, run.system, times, placements, shared)
    return ThreeWays(stages, nodes, execute_each(graph, nodes.nodes.lowered, inputs))
