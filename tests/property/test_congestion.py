"""Generated iterations on networks in which messages wait for each other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from test_folding import designs

from simcore.compute import COMPUTE_MODELS
from simcore.compute.roofline import Roofline
from simcore.config import Run, RunTemplate
from simcore.engines.choose import IN_STEP_ERROR
from simcore.engines.collectives.ends import is_shared
from simcore.engines.collectives.members import engine_options
from simcore.engines.each_npu import NodeTimes, expand
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineInput
from simcore.engines.events.run import run_unfolded
from simcore.engines.iteration import IterationRunner
from simcore.engines.limits import memory
from simcore.engines.stages.times import operator_times_ns, place_groups
from simcore.errors import ConfigError, InfeasibleError, SimulationError
from simcore.formats.astra import AstraFiles, as_plain, simulate_files
from simcore.formats.astra.export import write_configuration
from simcore.formats.chakra.generate import communicator_groups, write_iteration
from simcore.machine import Npu, Platform
from simcore.machine.system import System
from simcore.network.dimensions import engine_dimensions
from simcore.simulation import Simulator, simulate_run
from simcore.terms import Precision
from simcore.workload import Axis, ParallelPlan, TrainingWorkload, build_graph
from simcore.workload.graph import Operator

AWARE = "congestion_aware_multidim"
FOLDED: list[bool] = []
LONGER: list[bool] = []


def inputs_of(
    workload: TrainingWorkload, platform: Platform, plan: ParallelPlan, system: System
) -> EngineInput | None:
    """The programs of all NPUs, without congestion; None where the design cannot run."""
    graph = build_graph(workload, plan)
    try:
        placements = place_groups(graph.groups, platform.dimensions)
    except InfeasibleError:
        return None
    shared = [axis for axis in Axis if axis in graph.groups and is_shared(plan, axis)]
    compute = COMPUTE_MODELS["roofline"]()
    operator_ns = operator_times_ns(graph.operators, platform.npu, workload.precision, compute)
    try:
        return expand(graph, platform, system, NodeTimes(operator_ns), placements, shared)
    except SimulationError:
        return None  # an algorithm stands in for another in some groups only


@settings(derandomize=True, deadline=None, max_examples=150)
@given(designs())
def test_npus_that_are_alike_are_followed_as_one_with_congestion_too(
    design: tuple[TrainingWorkload, Platform, ParallelPlan, System],
) -> None:
    inputs = inputs_of(*design)
    if inputs is None:
        return
    crowded = replace(inputs, backend=AWARE)
    folded, every = run_folded(crowded), run_unfolded(crowded)
    np.testing.assert_array_equal(folded.finish_ns, every.finish_ns)
    for ours, theirs in zip(folded.node_end_ns, every.node_end_ns, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    alone = run_folded(inputs)
    assert not alone.waiting
    assert every.finish_ns.max() >= alone.finish_ns.max()  # seen, not proven: see the simulator
    FOLDED.append(folded.classes < every.finish_ns.size)
    LONGER.append(bool(every.finish_ns.max() > alone.finish_ns.max()))


def test_many_of_those_designs_were_folded_and_met_congestion() -> None:
    if not FOLDED:
        pytest.skip("the designs above were not part of this session")
    assert sum(FOLDED) > 50
    assert sum(LONGER) > 75


class WholeMicroseconds(Roofline):
    """The roofline in the unit of trace files, which know no fractions of it."""

    def operator_times_ns(
        self, operators: Sequence[Operator], npu: Npu, precision: Precision
    ) -> list[int]:
        exact = super().operator_times_ns(operators, npu, precision)
        return [1000 * round(time_ns / 1000) for time_ns in exact]


def run_of(topologies: Sequence[str], plan: Mapping[str, int], npus: Sequence[int] = (4, 4)) -> Run:
    rates = ("300 GB/s", "25 GB/s")
    table: dict[str, object] = {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 512, "global_batch": 16},
        "platform": {
            "npu": "a100_80",
            "dimensions": [
                {"topology": topology, "npus": count, "bandwidth": rate, "latency": "700 ns"}
                for topology, count, rate in zip(topologies, npus, rates, strict=False)
            ],
        },
        "plan": dict(plan),
        "system": {"chunks": 2, "all_reduce": "ring", "all_to_all": "ring"},
        "backend": AWARE,
    }
    return RunTemplate.from_table(table).with_values({})


def time_of_traces(run: Run, backend: str, folder: Path) -> int:
    """Finish in ns of the iteration that *run* describes, written as traces and run as such."""
    graph = build_graph(run.workload, run.plan)
    npu, dimensions = run.platform.npu, run.platform.dimensions
    times = operator_times_ns(graph.operators, npu, run.workload.precision, WholeMicroseconds())
    write_iteration(graph, times, folder / "w", range(run.plan.npus))
    options = engine_options(
        run.system,
        [dimension.topology for dimension in dimensions],
        npu.memory_bandwidth_bytes_per_s,
        [dimension.npus for dimension in dimensions],
    )
    groups = communicator_groups(graph).members
    write_configuration(folder / "w", engine_dimensions(dimensions), options, groups)
    files = AstraFiles(
        workload=folder / "w",
        system=folder / "w.system.json",
        network=folder / "w.network.yml",
        remote_memory=folder / "w.memory.json",
        comm_group=folder / "w.comm_group.json" if groups else None,
        folder=folder,
    )
    result = as_plain(simulate_files(files, backend, {}))
    assert result["status"] == "ok"
    finish = result["finish_cycles"]
    assert isinstance(finish, list)
    return int(max(finish))


@pytest.mark.parametrize("topology", ["ring", "switch", "fully_connected"])
@pytest.mark.parametrize(
    "plan",
    [
        {"tp": 4, "pp": 2, "dp": 2},
        {"tp": 4, "pp": 1, "dp": 4, "zero_stage": 1},
        {"tp": 1, "pp": 1, "dp": 16},
        {"tp": 1, "pp": 4, "dp": 4},
    ],
    ids=str,
)
def test_an_iteration_takes_the_time_of_its_traces_to_the_nanosecond(
    topology: str, plan: dict[str, int], tmp_path: Path
) -> None:
    run = run_of([topology, topology], plan)
    for backend in ("congestion_unaware", AWARE):
        runner = IterationRunner(run.platform, run.system, WholeMicroseconds(), backend=backend)
        ours = int(runner.run(run.workload, run.plan).finish_ns.max())
        assert ours == time_of_traces(run, backend, tmp_path)


def test_on_one_dimension_both_aware_backends_are_one(tmp_path: Path) -> None:
    run = run_of(["ring"], {"pp": 2, "dp": 4}, [8])
    assert run.platform.npus == 8
    times = set()
    for backend in ("congestion_aware", AWARE):
        runner = IterationRunner(run.platform, run.system, WholeMicroseconds(), backend=backend)
        times.add(int(runner.run(run.workload, run.plan).finish_ns.max()))
        times.add(time_of_traces(run, backend, tmp_path))
    assert len(times) == 1


@pytest.mark.parametrize("plan", [{"tp": 8}, {"dp": 8}, {"tp": 4, "dp": 2}], ids=str)
def test_where_every_message_has_a_link_of_its_own_congestion_changes_nothing(
    plan: dict[str, int],
) -> None:
    run = run_of(["fully_connected"], plan, [8])
    direct = run.system.model_copy(update={"all_reduce": ("direct",), "chunks": 1})
    aware = run.model_copy(update={"system": direct})
    unaware = aware.model_copy(update={"backend": "congestion_unaware"})
    assert simulate_run(aware).iteration_time_s == simulate_run(unaware).iteration_time_s


def test_messages_at_once_through_a_switch_take_as_long_as_its_link_needs() -> None:
    run = run_of(["switch", "switch"], {"dp": 16})
    direct = run.system.model_copy(update={"all_reduce": ("direct",)})
    crowded = simulate_run(run.model_copy(update={"system": direct}))
    free = simulate_run(run.model_copy(update={"system": direct, "backend": "congestion_unaware"}))
    assert max(free.dimension_utilization) > max(crowded.dimension_utilization)
    assert crowded.iteration_time_s > free.iteration_time_s
    assert crowded.backend == AWARE


def test_a_simulator_gives_what_a_single_run_gives() -> None:
    run = run_of(["ring", "switch"], {"tp": 4, "pp": 2, "dp": 2})
    simulator = Simulator()
    unaware = run.model_copy(update={"backend": "congestion_unaware"})
    for one in (run, unaware, run):
        assert simulator.simulate(one) == simulate_run(one)


def test_a_network_that_the_backend_cannot_represent_is_refused() -> None:
    run = run_of(["ring", "switch"], {"tp": 4, "dp": 4}).model_copy(
        update={"backend": "congestion_aware"}
    )
    with pytest.raises(ConfigError, match=r"platform\.dimensions: .*congestion_aware_multidim"):
        simulate_run(run)


def test_npus_are_taken_to_stay_in_step_only_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_of(["ring", "switch"], {"tp": 2, "pp": 2, "dp": 4})
    followed = simulate_run(run)
    assert followed.engine == "events"
    assert followed.simulated_npus < run.plan.npus  # those that are provably alike as one
    with monkeypatch.context() as patch:
        patch.setattr(memory, "MOST_BYTES", 10_000)
        with pytest.raises(ConfigError, match=r"system.phase_end: follows .* choose together, whi"):
            simulate_run(run)
    together = run.system.model_copy(update={"phase_end": "together"})
    found = simulate_run(run.model_copy(update={"system": together}))
    assert found.engine == "stages"
    assert any("taken to stay in step" in note and IN_STEP_ERROR in note for note in found.notes)
    assert found.iteration_time_s == pytest.approx(followed.iteration_time_s, rel=0.05)


@pytest.mark.parametrize("backend", [AWARE, "flow"])
def test_a_slow_npu_slows_down_all_where_messages_meet_too(backend: str) -> None:
    run = run_of(["switch", "switch"], {"tp": 4, "dp": 4}).model_copy(update={"backend": backend})
    slow = run.platform.model_copy(update={"npu_scale": "3:0.5"})
    found, even = simulate_run(run.model_copy(update={"platform": slow})), simulate_run(run)
    assert (found.engine, even.engine) == ("events", "stages")
    assert found.iteration_time_s > 1.1 * even.iteration_time_s


def test_members_are_held_together_where_messages_meet_too() -> None:
    run = run_of(["switch", "switch"], {"tp": 4, "dp": 4})
    trees = {"all_reduce": ("double_binary_tree",), "phase_end": "together"}
    system = run.system.model_copy(update=trees)
    each = system.model_copy(update={"phase_end": "each"})
    held, free = (simulate_run(run.model_copy(update={"system": one})) for one in (system, each))
    assert any("taken to stay in step" in note for note in held.notes)
    assert (held.engine, free.engine) == ("stages", "events")
    assert held.iteration_time_s >= free.iteration_time_s
