"""Executes an iteration NPU by NPU and message by message; NPUs that are alike run as one.

For networks in which messages slow each other down, for topologies on which groups of one axis lie
differently, and for designs in which the members of a collective do not end together
(``phase_end: each``).
"""

from dataclasses import replace

import numpy as np

from simcore.engines.classes.run import Execution
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineInput
from simcore.engines.expand import expand
from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.engines.stages.accounts import book
from simcore.engines.stages.lowering import Lowered, lower
from simcore.engines.stages.ran import Ran
from simcore.engines.stages.stage_axes import is_shared
from simcore.errors import ConfigError, SimulationError
from simcore.network import DEFAULT_BACKEND
from simcore.workload.graph import TrainingGraph

MAX_NODES = 2_000_000


def run_every_npu(graph: TrainingGraph, times: ProgramTimes, machine: MachineTimes) -> Ran:
    """Run the programs of all NPUs; each stage is told by its NPU that ends last.

    Raises:
        ConfigError: All NPUs together have too many nodes; says what to choose.
        SimulationError: The NPUs wait for each other for ever; names the nodes.
    """
    platform, operator_ns = machine.platform, times.operator_ns
    lowered = lower(graph, platform.dimensions, operator_ns, times.collectives)
    check_nodes(graph, lowered, times, machine)
    shared = [axis for axis in graph.groups if is_shared(graph.plan, axis)]
    inputs = expand(graph, platform, machine.system, operator_ns, times.placements, shared)
    run = execute_each(graph, lowered, replace(inputs, backend=machine.backend))
    return Ran.of_nodes(graph, lowered, run)


def check_nodes(
    graph: TrainingGraph, lowered: Lowered, times: ProgramTimes, machine: MachineTimes
) -> None:
    """Check that all NPUs together have few enough nodes for this engine.

    Raises:
        ConfigError: They have not; says what to choose.
    """
    nodes = lowered.node.shape[0] * graph.plan.npus_per_stage
    if nodes <= MAX_NODES:
        return
    limit = f"follows every NPU, with at most {MAX_NODES} nodes on all of them, not {nodes}"
    if machine.messages_meet:
        rule = f"{limit}; choose {DEFAULT_BACKEND}, fewer NPUs or fewer micro-batches"
        raise ConfigError("backend", rule, got=machine.backend)
    if times.unlike:
        rule = f"where groups lie differently on it, {limit}; choose another topology or fewer NPUs"
        raise ConfigError("platform.dimensions", rule, got=times.unlike)
    rule = f"where members of a collective end one by one, {limit}; choose together"
    raise ConfigError("system.phase_end", rule, got="each")


def execute_each(graph: TrainingGraph, lowered: Lowered, inputs: EngineInput) -> Execution:
    """Run the programs of all NPUs, *inputs*; each stage of *graph* is its NPU that ends last.

    Raises:
        SimulationError: The NPUs wait for each other for ever; names the nodes.
    """
    output = run_folded(inputs)
    if output.waiting:
        raise SimulationError("; ".join(output.waiting[:4]))
    plan = graph.plan
    npu = [[plan.npu(s, member) for member in range(plan.npus_per_stage)] for s in range(plan.pp)]
    finish = output.finish_ns[np.array(npu)]
    slowest = [npu[stage][member] for stage, member in enumerate(finish.argmax(axis=1).tolist())]
    start = np.concatenate([output.node_start_ns[npu] for npu in slowest])
    end = np.concatenate([output.node_end_ns[npu] for npu in slowest])
    ran = Execution(
        start_ns=start,
        end_ns=end,
        finish_ns=finish.max(axis=1),
        booked_ns=np.zeros((0, 0), np.int64),
        events=output.events,
        npus=output.classes,
    )
    return replace(ran, booked_ns=book(lowered, start, end))
