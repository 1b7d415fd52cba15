"""How the cost of one evaluation grows with the machine, the model and the plan.

    python benchmarks/scale.py [--repeats 20] [--svg FILE] [--page FILE]

One thing grows, the others stay: NPUs (more data parallel replicas of the same plan per rank),
layers, micro-batches, chunks of a collective, pipeline stages. An evaluation is what a search asks
for: from the values by path to the result and its metrics. Two costs, in CPU milliseconds:

* cold: a new simulator for each evaluation, so that nothing is remembered;
* warm: one simulator that knows the plan, and network bandwidths that it has not met.

The median of the repeats counts. The last line is one JSON object.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from chart import Panel, svg
from page import markdown_table, write_table

from simcore import RunTemplate, Simulator

RUN: dict[str, Any] = {
    "workload": {"model": "gpt3_175b", "sequence": 2048, "global_batch": 512},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "switch", "npus": 16, "bandwidth": "25 GB/s", "latency": "1.7 us"},
            {"topology": "switch", "npus": 8, "bandwidth": "25 GB/s", "latency": "2.5 us"},
        ],
    },
    "plan": {"tp": 8, "pp": 8, "dp": 16, "zero_stage": 1, "recompute": "selective"},
    "system": {"all_reduce": "ring", "chunks": 4, "phase_end": "together"},
}
REPLICA_NPUS = 32
"""NPUs of one replica where the machine grows: tp 8, pp 4."""


def machine(npus: int, algorithm: str) -> dict[str, object]:
    """A machine of *npus* with as many replicas as it holds, 16 micro-batches each."""
    replicas = npus // REPLICA_NPUS
    return {
        "plan.pp": 4,
        "plan.dp": replicas,
        "platform.dimensions[1].npus": replicas,
        "platform.dimensions[2].npus": 4,
        "workload.global_batch": 16 * replicas,
        "system.all_reduce": algorithm,
    }


def stages(count: int) -> dict[str, object]:
    """The same 1,024 NPUs and 32 micro-batches in *count* stages."""
    replicas = 128 // count
    return {
        "plan.pp": count,
        "plan.dp": replicas,
        "platform.dimensions[1].npus": replicas,
        "platform.dimensions[2].npus": count,
        "workload.global_batch": 32 * replicas,
    }


NPUS = [4**power for power in range(3, 9)]
SWEEPS: dict[str, dict[int, dict[str, object]]] = {
    **{
        f"NPUs, {name}": {npus: machine(npus, name) for npus in NPUS}
        for name in ("ring", "halving_doubling", "double_binary_tree")
    },
    "layers": {count: {"workload.model.layers": count} for count in (12, 24, 48, 96, 192)},
    "micro-batches": {
        count: {"workload.global_batch": 16 * count} for count in (8, 16, 32, 64, 128, 256, 512)
    },
    "chunks": {count: {"system.chunks": count} for count in (1, 4, 16, 64, 256)},
    "stages": {count: stages(count) for count in (2, 4, 8, 16, 32)},
}


class Evaluator:
    """Evaluates runs, and remembers what it has met."""

    def __init__(self) -> None:
        self._template = RunTemplate.from_table(RUN)
        self._simulator = Simulator()

    def cost_ms(self, values: Mapping[str, object], bandwidth_gb_per_s: float) -> float:
        """CPU milliseconds of one evaluation."""
        values = {**values, "platform.dimensions[1].bandwidth": f"{bandwidth_gb_per_s} GB/s"}
        begin = time.process_time()
        self._simulator.simulate(self._template.with_values(values)).metrics()
        return (time.process_time() - begin) * 1e3


def costs_ms(
    designs: Mapping[int, Mapping[str, object]], repeats: int
) -> dict[int, tuple[float, float]]:
    """Cold and warm cost of each design; they take turns, as a busy machine slows all alike."""
    known = {count: Evaluator() for count in designs}
    for count, values in designs.items():
        known[count].cost_ms(values, 20.0)  # loads the kernels too
    cold: dict[int, list[float]] = {count: [] for count in designs}
    warm: dict[int, list[float]] = {count: [] for count in designs}
    for step in range(repeats):
        for count, values in designs.items():
            cold[count].append(Evaluator().cost_ms(values, 25.0 + step))
            warm[count].append(known[count].cost_ms(values, 25.0 + step))
    return {
        count: (round(median(cold[count]), 3), round(median(warm[count]), 3)) for count in designs
    }


def picture(results: Mapping[str, Mapping[int, tuple[float, float]]]) -> str:
    """Cost over the machine's size, and over everything else."""
    machines = {
        f"{name.removeprefix('NPUs, ').replace('_', ' ')}, {state}": [
            (x, y[at]) for x, y in line.items()
        ]
        for name, line in results.items()
        if name.startswith("NPUs")
        for at, state in enumerate(("cold", "warm"))
    }
    others = {
        name: [(x, y[0]) for x, y in line.items()]
        for name, line in results.items()
        if not name.startswith("NPUs")
    }
    unit = "CPU ms per evaluation"
    return svg(
        [
            Panel(title="Same plan per rank", x_label="NPUs", y_label=unit, lines=machines),
            Panel(title="1,024 NPUs, cold", x_label="number of", y_label=unit, lines=others),
        ]
    )


def rows(results: Mapping[str, Mapping[int, tuple[float, float]]]) -> Sequence[Sequence[object]]:
    """One row per line of the picture: from its first to its last point."""
    table = []
    for name, line in results.items():
        (first, start), *_, (last, end) = line.items()
        growth = [f"{end[at] / start[at]:.2f}" for at in (0, 1)]
        table.append([name, f"{first:,} to {last:,}", *start, *end, *growth])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--svg", type=Path, help="file for the picture")
    parser.add_argument("--page", type=Path, help="page whose table 'scale' is written anew")
    arguments = parser.parse_args()
    results: dict[str, dict[int, tuple[float, float]]] = {}
    for name, designs in SWEEPS.items():
        results[name] = costs_ms(designs, arguments.repeats)
        for count, (cold, warm) in results[name].items():
            print(f"{name:26} {count:6}   cold {cold:8.2f} ms   warm {warm:8.2f} ms", flush=True)
    header = ["what grows", "from, to", "cold ms at first", "warm ms at first", "cold ms at last"]
    header += ["warm ms at last", "growth cold", "growth warm"]
    if arguments.page:
        write_table(arguments.page, "scale", markdown_table(header, rows(results)))
    if arguments.svg:
        arguments.svg.write_text(picture(results), encoding="utf-8")
    print(json.dumps({"benchmark": "scale", "cold_and_warm_ms": results}))


if __name__ == "__main__":
    main()
