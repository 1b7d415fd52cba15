"""``simcore compile``: compile the kernels now, so that the first simulation need not."""

from compileall import compile_dir
from pathlib import Path

import click


@click.command(name="compile")
def compile_kernels() -> None:
    """Compile the simulator's kernels and keep them on disk (once per machine, about a minute).

    Python's byte code is kept as well, also where Python is told not to write it by itself.
    """
    from simcore.config import RunTemplate
    from simcore.simulation import run_with_iteration, simulate_run

    click.echo("compiling the simulator's kernels ...", err=True)
    compile_dir(Path(__file__).parents[1], quiet=2)  # a third of the start-up of `simcore astra`
    template = RunTemplate.from_table(_SMALL)
    # every algorithm once: a tree goes to the unfolded engine, the others are folded
    for algorithm in ("ring", "direct", "halving_doubling", "double_binary_tree"):
        simulate_run(template.with_values({"system.all_reduce": algorithm}))
    run_with_iteration(template.with_values({}), every_node=True)
    click.echo("done", err=True)


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
