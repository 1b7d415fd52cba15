"""No collective takes longer than the most that is told of it, which is told where times add up."""

import numpy as np

from simcore import DesignBounds, RunTemplate
from simcore.bounds.machines.machine_terms import AXES, KINDS
from simcore.engines.collectives.placement import place_group
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.errors import InfeasibleError
from simcore.kernels.bounds.room import most_ns

ALGORITHMS = ["ring", "direct", "direct2", "halving_doubling", "double_binary_tree"]


def random_run(random: np.random.Generator) -> RunTemplate:
    shapes = ["ring", "switch", "fully_connected", "mesh"]
    dimensions = [
        {
            "topology": str(random.choice(shapes)),
            "npus": 4,
            "bandwidth": f"{random.choice([1, 50, 333])} GB/s",
            "latency": f"{random.choice([0, 700, 12345])} ns",
        }
        for _ in range(2)
    ]
    kinds = ("all_reduce", "all_gather", "reduce_scatter")
    chosen = {kind: random.choice(ALGORITHMS, 2).tolist() for kind in kinds}
    system = {
        "chunks": int(random.choice([1, 3, 4])),
        "active_chunks_per_dimension": int(random.choice([1, 2])),
        "endpoint_delay": f"{random.choice([0, 10, 5000])} ns",
        "collective_optimization": str(random.choice(["baseline", "local_bw_aware"])),
        "phase_end": "together",
    }
    tp, cp = random.choice([(2, 2), (4, 1), (8, 1), (4, 2)]).tolist()
    plan = {
        "tp": tp,
        "cp": cp,
        "dp": 16 // tp // cp,
        "sequence_parallel": bool(random.random() < 0.7),
    }
    table = {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 256, "global_batch": 64},
        "platform": {"npu": "a100_80", "dimensions": dimensions},
        "plan": plan,
        "system": {**chosen, **system},
    }
    return RunTemplate.from_table(table)


def test_no_collective_takes_longer_than_the_most_that_is_told() -> None:
    random, told, plain = np.random.default_rng(3), 0, 0
    for _ in range(60):
        template = random_run(random)
        run, bounds = template.with_values({}), DesignBounds(template, {})
        if not np.isfinite(bounds.times_s({}))[0]:
            continue
        picks, rates = bounds._picks({}, slice(0, 1), True, {})
        tables = bounds._rows.tables()
        rate = run.platform.npu.memory_bandwidth_bytes_per_s
        timer = CollectiveTimer(run.platform.dimensions, run.system, rate)
        groups = {group.axis: group for group in next(iter(bounds._rows.layouts.numbers))[1]}
        for number, (kind, axis, size) in enumerate(tables.collectives.tolist()):
            group = groups[AXES[axis]]
            try:
                place = place_group("", group.stride, group.size, (4, 4))
            except InfeasibleError:
                continue
            took_ns = timer.time(list(KINDS)[kind], place, size).duration_ns
            most = most_ns(tables, picks, rates, 0, number)
            assert took_ns <= most * (1 + 1e-9) + 1, (template.table, kind, axis, size)
            told += np.isfinite(most)
            plain += np.isfinite(most) and took_ns > 0.99 * most
    assert told > 100
    assert plain > 0.3 * told, "of one dimension, nothing overlaps"
