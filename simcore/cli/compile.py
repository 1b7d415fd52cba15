"""``simcore compile``: compile the kernels now, so that the first simulation need not."""

from collections.abc import Callable, Sequence
from compileall import compile_dir
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import tell_kernels

if TYPE_CHECKING:
    from simcore.config import RunTemplate


@click.command(name="compile")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Flits, systolic arrays, syntheses, placements and searches too, which else wait for their"
    " first use.",
)
def compile_kernels(everything: bool) -> None:
    """Compile the simulator's kernels and keep them on disk (once per machine, a minute or two).

    Python's byte code is kept as well, also where Python is told not to write it by itself.
    """
    begin = monotonic()
    compile_dir(Path(__file__).parents[1], quiet=2)  # a third of the start-up of `simcore astra`
    # two halves that take about as long, each on a core of its own
    engine = get_context("spawn").Process(target=_compile_engine, args=(everything,))
    engine.start()
    click.echo("compiling the simulator's kernels: pipelines and the engine ...", err=True)
    template = _template()
    _do("pipelines", _pipeline_steps(template, everything=everything))
    click.echo(f"pipelines after {monotonic() - begin:.0f} s, the engine ...", err=True)
    engine.join()
    _run_on_engine(template)
    click.echo(f"done after {monotonic() - begin:.0f} s", err=True)


def _compile_engine(everything: bool) -> None:
    """Compile what is kept as machine code, and what simulates networks and arrays by themselves.

    Args:
        everything: Flits and systolic arrays as well.
    """
    from simcore.kernels.native import prepare

    further = [_compile_flits, _compile_arrays] if everything else []
    _do("engine", [prepare, _compile_packets, *further])


def _do(what: str, steps: Sequence[Callable[[], object]]) -> None:
    """Take *steps* one after another, and tell which one is being taken and what it compiles."""
    teller = tell_kernels(what)
    for number, step in enumerate(steps, 1):
        teller.step = f"step {number} of {len(steps)}, "
        step()


def _compile_packets() -> None:
    from simcore.packets.case import case_of
    from simcore.packets.run import run_case

    run_case(case_of(_TWO_HOSTS))


def _compile_flits() -> None:
    from simcore.flits.case import read_case
    from simcore.flits.simulate import steady

    steady(read_case(_MESH), {}, 1, 0.1, is_throughput=True)


def _compile_arrays() -> None:
    from simcore.systolic import Array, Dataflow, Layer, report

    words = {"ifmap_words": 128, "filter_words": 128, "ofmap_words": 128}
    for dataflow in Dataflow:
        array = Array(rows=2, cols=2, dataflow=dataflow, bandwidth=1, **words)
        report(Layer.gemm(2, 2, 2), array)


def _compile_columns(template: "RunTemplate") -> None:
    """Compile what works on columns of designs: bounds, and many simulated at once."""
    from simcore.bounds import lower_bounds
    from simcore.many.simulate import simulate_many

    designs = [{"plan.micro_batch": 1}, {"plan.micro_batch": 2}]
    lower_bounds(template, designs)
    simulate_many(template, designs)


def _compile_syntheses() -> None:
    from simcore.synthesis.fabric import fabric_of_table
    from simcore.synthesis.kinds import KINDS
    from simcore.synthesis.synthesise import synthesise

    for kind in KINDS:
        synthesise(fabric_of_table(_TRIANGLE), kind)


def _compile_placements() -> None:
    import numpy as np

    from simcore.placement import Ranks
    from simcore.placement.choice import PlacementChoice

    PlacementChoice(rule="greedy").place(Ranks(2, lambda: np.ones((2, 2)), lambda: np.eye(2)))


def _compile_searches() -> None:
    """Compile what breeds designs and knows them again, on a space of two."""
    import numpy as np

    from simcore.kernels.designs import children, chosen, known, tables

    shapes = {"meanings": (0, 0, 0, 0), "places": (0, 0), "values": (1, 2), "product_first": 2}
    columns = {
        name: np.zeros(shapes.get(name, 1), np.int64) for name in tables.DesignTables._fields
    }
    columns |= {"spans": np.array([[0, 1]]), "key_first": np.array([0, 2]), "keys": np.arange(2)}
    table = tables.DesignTables(**columns | {"radix": np.ones(1, np.int64), "shares": np.ones(1)})
    dimensions, codes, reals = np.zeros(3, np.int16), np.zeros((3, 1), np.int16), np.zeros((3, 0))
    children.breed_designs(table, dimensions, codes, reals, 2, 0.5, 0)
    children.move_designs(table, dimensions, codes, reals, np.arange(3), 0)
    tables.hold_designs(table, dimensions, codes, np.zeros((3, 1), bool), np.ones(3, bool))
    keys, notes = np.zeros(3, np.int64), np.zeros(8, np.int32)
    known.keys_of_designs(dimensions, codes, reals.view(np.uint64), keys)
    known.add_keys(np.zeros(8, np.int64), notes, keys, notes[:3])
    known.find_keys(np.zeros(8, np.int64), notes, keys, notes[:3].copy())
    flags = np.zeros(3, bool)
    told = np.zeros((0, 3)), np.zeros(1), 0.0, flags, flags, keys
    chosen.best_design(*told, np.zeros(8, np.int64), notes, 0)


def _template() -> "RunTemplate":
    from simcore.config import RunTemplate

    return RunTemplate.from_table(_SMALL)


def _pipeline_steps(template: "RunTemplate", *, everything: bool) -> list[Callable[[], object]]:
    """Steps that compile pipelines, designs in columns, graphs and, if wanted, all else."""
    from simcore.simulation import run_with_iteration, simulate_run

    def reduces(algorithm: str) -> object:
        return simulate_run(template.with_values({"system.all_reduce": algorithm}))

    steps: list[Callable[[], object]] = [
        partial(reduces, algorithm) for algorithm in ("ring", "direct", "halving_doubling")
    ]
    steps.append(partial(run_with_iteration, template.with_values({}), every_node=True))
    steps += [partial(_compile_columns, template), _compile_graphs]
    further = [_compile_syntheses, _compile_placements, _compile_searches]
    return [*steps, *further] if everything else steps


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

_MESH = {
    "topology": "mesh", "k": 2, "n": 1, "routing_function": "dor", "num_vcs": 1,
    "vc_buf_size": 1, "packet_size": 1, "sample_period": 10,
}  # fmt: skip

_TRIANGLE = {
    "npus": 3,
    "nodes": 3,
    "links": [[npu, (npu + step) % 3, "1", 0] for npu in range(3) for step in (1, 2)],
    "links_cols": ["a", "b", "rate", "latency"],
}

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
