"""``simcore compile``: compile the kernels now, so that the first simulation need not."""

from compileall import compile_dir
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simcore.config import RunTemplate


@click.command(name="compile")
def compile_kernels() -> None:
    """Compile the simulator's kernels and keep them on disk (once per machine, about a minute).

    Python's byte code is kept as well, also where Python is told not to write it by itself.
    """
    begin = monotonic()
    compile_dir(Path(__file__).parents[1], quiet=2)  # a third of the start-up of `simcore astra`
    # two halves that take about as long, each on a core of its own
    engine = get_context("spawn").Process(target=_compile_engine)
    engine.start()
    click.echo("compiling the simulator's kernels: pipelines and the engine ...", err=True)
    template = _compile_pipelines()
    _compile_graphs()
    click.echo(f"pipelines after {monotonic() - begin:.0f} s, the engine ...", err=True)
    engine.join()
    _run_on_engine(template)
    click.echo(f"done after {monotonic() - begin:.0f} s", err=True)


def _compile_engine() -> None:
    """Compile what is kept as machine code, and the packet engine."""
    from simcore.kernels.native import prepare
    from simcore.packets.case import case_of
    from simcore.packets.run import run_case

    prepare()
    run_case(case_of(_TWO_HOSTS))
    _compile_inside()


def _compile_inside() -> None:
    """Compile networks flit by flit, and systolic arrays that wait for their memory."""
    from simcore.flits.case import read_case
    from simcore.flits.simulate import steady
    from simcore.systolic import Array, Dataflow, Layer, report

    steady(read_case(_ROUTERS), {}, 1, 0.1, is_throughput=True)
    for flow in Dataflow:
        report(Layer.gemm(8, 8, 8), Array(4, 4, flow, 100, 100, 100, bandwidth=1))


def _compile_pipelines() -> "RunTemplate":
    from simcore.config import RunTemplate
    from simcore.simulation import run_with_iteration, simulate_run

    template = RunTemplate.from_table(_SMALL)
    for algorithm in ("ring", "direct", "halving_doubling"):
        simulate_run(template.with_values({"system.all_reduce": algorithm}))
    run_with_iteration(template.with_values({}), every_node=True)
    return template


def _compile_graphs() -> None:
    """Compile walks over network graphs, and flows on them."""
    from simcore.flows.case import case_of
    from simcore.flows.simulate import simulate_flows
    from simcore.graphs.structure import describe

    graph = {"family": "star", "params": {"n": 3}, "bandwidth": "1 GB/s", "latency": "1 ns"}
    flows: list[object] = [[0, 0, 1, 1, 0, None, []], [1, 2, 1, 1, 0, None, []]]
    routing = {"rule": "ecmp_hash"}
    case = case_of({"kind": "rule", "graph": graph, "flows": flows, "routing": routing})
    simulate_flows(case.graph, case.routes, case.flows)
    describe(case.graph)


def _run_on_engine(template: "RunTemplate") -> None:
    """Compile what brings collectives to the engine: it times the members of trees one by one."""
    from simcore.simulation import simulate_run

    simulate_run(template.with_values({"system.all_reduce": "double_binary_tree"}))


_TWO_HOSTS = {
    "topology": {"num_nodes": 2, "switches": [], "links": [[0, 1, 10**11, 0]]},
    "flows": [[0, 0, 1, 1, 0, []]],
}

_ROUTERS = {
    "topology": "mesh", "k": 2, "n": 1, "routing_function": "dor", "num_vcs": 1, "vc_buf_size": 1,
    "packet_size": 1, "sample_period": 10,
}  # fmt: skip

_SMALL = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 128, "global_batch": 16},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 4, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1700 ns"},
        ],
    },
    "plan": {"tp": 2, "dp": 4, "pp": 2},
    "system": {"phase_end": "together"},
}
