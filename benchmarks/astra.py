"""Runs ``python -m simcore astra`` side by side with what ASTRA-sim 2.0 was measured to need.

    python benchmarks/astra.py [--case NAME ...] [--list]

Each case is a whole fresh process, after one that compiles the kernels and Python's byte code:
start-up, reading the trace of every NPU, simulating and printing. CPU seconds are user + system
time of that process, the lowest of three where it takes less than 2 s. One line per case, one JSON
object with all of them on the last line, with the events that the engine handles per CPU second
when it runs every message of Ring(256).

The figures of ASTRA-sim are those of its analytical programs (commit 518bd51, g++ 12.2 -O3) on a
virtual x86-64 machine with 2 cores, the lower of two measurements where there are two; "None" where
it was stopped unfinished, with the CPU seconds and MB that it had used by then. Machines differ:
compare ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simcore.engines.events.input import SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.formats.astra import AstraFiles, load_run
from simcore.formats.astra.collective_names import algorithms_of
from simcore.formats.astra.export import write_configuration
from simcore.formats.astra.network_file import BYTES_PER_GB
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, NodeKind

ROOT = Path(__file__).resolve().parents[1]
GIB = 1 << 30
HIDDEN = 4096
TOKENS = 2048
_REPEATED_BELOW_S, _TIMES = 2.0, 3
# Linux counts the memory of the process that starts another as the other's too: so a small one does
_RUNNER = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""
COLLECTIVES = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """ASTRA-sim's figures; ``end_cycles`` is None where it was stopped unfinished."""

    cpu_s: float
    peak_mb: float
    end_cycles: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One configuration: a 1 GiB all-reduce of all NPUs, or a training step of an LLM."""

    topology: tuple[str, ...]
    npus: tuple[int, ...]
    algorithms: tuple[str, ...]
    reference: Reference | None
    backend: str = "congestion_unaware"
    gb_per_s: tuple[float, ...] = (100.0, 100.0, 100.0)
    latency_ns: tuple[float, ...] = (500.0, 500.0, 500.0)
    layers: int = 0  # of the LLM step; 0: the all-reduce
    tp: int = 1


def ring(*npus: int, reference: Reference, backend: str = "congestion_unaware") -> Case:
    names = ("ring",) * len(npus)
    return Case(topology=names, npus=npus, algorithms=names, reference=reference, backend=backend)


def switch(*npus: int, reference: Reference | None) -> Case:
    names, algorithms = ("switch",) * len(npus), ("halvingDoubling",) * len(npus)
    return Case(topology=names, npus=npus, algorithms=algorithms, reference=reference)


def llm_2d(dp: int, tp: int, layers: int, reference: Reference | None) -> Case:
    return Case(
        topology=("fully_connected", "switch"),
        npus=(tp, dp),
        algorithms=("direct", "ring"),
        reference=reference,
        gb_per_s=(300.0, 50.0),
        latency_ns=(25.0, 600.0),
        layers=layers,
        tp=tp,
    )


def llm_1d(dp: int, tp: int, layers: int, backend: str, reference: Reference | None) -> Case:
    return Case(
        topology=("switch",),
        npus=(dp * tp,),
        algorithms=("ring",),
        reference=reference,
        backend=backend,
        gb_per_s=(50.0,),
        latency_ns=(600.0,),
        layers=layers,
        tp=tp,
    )


UNAWARE, AWARE = "congestion_unaware", "congestion_aware"
CASES = {
    "ring_64": ring(64, reference=Reference(0.06, 24, 21_925_804)),
    "ring_256": ring(256, reference=Reference(1.03, 35, 22_965_340)),
    "ring_256_aware": ring(256, reference=Reference(1.26, 35, 22_965_340), backend=AWARE),
    "ring_1024": ring(1024, reference=Reference(44.5, 355, None)),
    "torus_4x4x4": ring(4, 4, 4, reference=Reference(0.03, 24, 16_522_268)),
    "torus_16x8x8": ring(16, 8, 8, reference=Reference(1.82, 49, 20_698_580)),
    "torus_16x16x16": ring(16, 16, 16, reference=Reference(15.09, 191, 20_698_580)),
    "torus_32x32x16": ring(32, 32, 16, reference=Reference(30.0, 921, None)),
    "switch_1024": switch(1024, reference=Reference(2.38, 357, 21_065_892)),
    "switch_4096": switch(4096, reference=Reference(25.1, 5464, None)),
    "switch_16384": switch(16384, reference=None),
    "switch_32x32": switch(32, 32, reference=Reference(0.73, 59, 20_359_172)),
    "switch_64x64": switch(64, 64, reference=Reference(7.11, 306, 20_711_200)),
    "switch_128x128": switch(128, 128, reference=Reference(19.9, 1966, None)),
    "llm_64_2d": llm_2d(8, 8, 32, Reference(1.76, 39, 96_323_217)),
    "llm_64_1d": llm_1d(8, 8, 32, UNAWARE, Reference(1.72, 40, 163_078_801)),
    "llm_64_1d_aware": llm_1d(8, 8, 32, AWARE, Reference(2.44, 40, 285_572_753)),
    "llm_256_2d": llm_2d(32, 8, 32, Reference(14.8, 113, None)),
    "llm_256_1d_aware": llm_1d(32, 8, 32, AWARE, None),
    "llm_256_2d_8_layers": llm_2d(32, 8, 8, Reference(5.67, 49, 27_812_721)),
    "llm_256_1d_8_layers_aware": llm_1d(32, 8, 8, AWARE, Reference(6.88, 65, 76_531_313)),
}


def all_reduce_node(number: int, size: int, *, group: int, parents: tuple[int, ...]) -> Node:
    values = [
        attribute("is_cpu_op", False),
        attribute("comm_type", int(CollectiveKind.ALL_REDUCE)),
        attribute("comm_size", size),
    ]
    if group:
        values.append(attribute("pg_name", str(group)))
    kind = int(NodeKind.COLLECTIVE)
    return Node(id=number, name="ar", type=kind, data_deps=parents, attributes=tuple(values))


def llm_nodes(case: Case, tp_group: int, dp_group: int) -> Iterator[Node]:
    """32 layers forward and backward; the gradients' all-reduces hang beside the chain."""
    activation = TOKENS * HIDDEN * 2
    forward, backward = (4, 0, 8, 0), (16, 0, 8, 0, -1)
    last, number = (), 0
    for steps in [forward] * case.layers + [backward] * case.layers:
        for step in steps:
            if step > 0:
                parameters = step * HIDDEN**2 // case.tp
                values = (
                    attribute("is_cpu_op", False),
                    attribute("num_ops", 2 * TOKENS * parameters),
                    attribute("tensor_size", 2 * parameters + 2 * activation),
                )
                kind = int(NodeKind.COMPUTE)
                yield Node(id=number, name="c", type=kind, data_deps=last, attributes=values)
            elif step == 0:
                yield all_reduce_node(number, activation, group=tp_group, parents=last)
            else:
                size = 12 * HIDDEN**2 * 2 // case.tp
                yield all_reduce_node(number, size, group=dp_group, parents=last)
            if step >= 0:
                last = (number,)
            number += 1


def groups_of(case: Case) -> dict[int, list[int]]:
    """Tensor-parallel groups of consecutive NPUs first, then the data-parallel ones."""
    if not case.layers:
        return {}
    npus, tp = prod(case.npus), case.tp
    dp = npus // tp
    groups = {1 + i: list(range(i * tp, i * tp + tp)) for i in range(dp)}
    return groups | {1 + dp + i: list(range(i, npus, tp)) for i in range(tp)}


def write_inputs(case: Case, prefix: Path) -> dict[str, Path]:
    """The traces of all NPUs and the configuration files."""
    files = write_settings(case, prefix, groups_of(case))
    if case.layers:
        keys = json.loads(files["system"].read_text(encoding="utf-8"))
        keys |= {"roofline-enabled": 1, "peak-perf": 300}
        files["system"].write_text(json.dumps(keys), encoding="utf-8")
    _write_traces(case, prefix)
    return files


def write_settings(case: Case, prefix: Path, groups: dict[int, list[int]]) -> dict[str, Path]:
    """The files of system, network, memory and groups."""
    options = SystemOptions(
        chunks=4,
        local_mem_bytes_per_ns=900.0 if case.layers else 1600.0,
        algorithms={int(kind): algorithms_of(case.algorithms) for kind in COLLECTIVES},
    )
    rates = [rate * BYTES_PER_GB / 1e9 for rate in case.gb_per_s]
    dimensions = [
        NetworkDimension(topology=topology, npus=npus, bytes_per_ns=rate, latency_ns=latency)
        for topology, npus, rate, latency in zip(
            case.topology, case.npus, rates, case.latency_ns, strict=False
        )
    ]
    write_configuration(prefix, dimensions, options, groups)
    return {
        key: prefix.with_name(f"{prefix.name}.{suffix}")
        for key, suffix in (("system", "system.json"), ("network", "network.yml"))
    }


def _write_traces(case: Case, prefix: Path) -> None:
    """Files of equal content are written once and copied."""
    contents: dict[tuple[int, int], bytes] = {}
    dp = prod(case.npus) // case.tp
    for npu in range(prod(case.npus)):
        path = prefix.with_name(f"{prefix.name}.{npu}.et")
        key = (1 + npu // case.tp, 1 + dp + npu % case.tp) if case.layers else (0, 0)
        if key not in contents:
            nodes = llm_nodes(case, *key)
            if not case.layers:
                nodes = iter([all_reduce_node(0, GIB, group=0, parents=())])
            write_trace(path, Metadata(version="0.0.4"), nodes)
            contents[key] = path.read_bytes()
        else:
            path.write_bytes(contents[key])


def run(case: Case, prefix: Path, files: dict[str, Path], *, grouped: bool) -> dict[str, object]:
    """One fresh process; its CPU seconds, peak memory and the time at which the last NPU ends."""
    command = [
        sys.executable, "-m", "simcore", "astra",
        f"--workload-configuration={prefix}",
        f"--system-configuration={files['system']}",
        f"--network-configuration={files['network']}",
        f"--remote-memory-configuration={prefix}.memory.json",
        f"--backend={case.backend}",
    ]  # fmt: skip
    if grouped:
        command.append(f"--comm-group-configuration={prefix}.comm_group.json")
    out = prefix.with_name("out.txt")
    figures = [measured(command, out)]
    while figures[0][0] < _REPEATED_BELOW_S and len(figures) < _TIMES:
        figures.append(measured(command, out))
    cpu_s, peak_kb = min(figures)
    ends = [
        int(line.split(", ")[1].split()[0])
        for line in out.read_text(encoding="utf-8").splitlines()
        if "] finished, " in line
    ]
    return {
        "cpu_s": round(cpu_s, 3),
        "peak_mb": round(peak_kb / 1024, 1),
        "end_cycles": max(ends),
    }


def run_alike(case: Case, folder: Path) -> dict[str, object]:
    """Writes the files of a case whose NPUs do the same, and runs it."""
    prefix = folder / "w"
    return run(case, prefix, write_inputs(case, prefix), grouped=bool(case.layers))


def measured(command: list[str], out: Path) -> tuple[float, int]:
    """CPU seconds and peak memory in KiB of one process."""
    # as in an installed package, Python's byte code stands beside its sources
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    runner = [sys.executable, "-S", "-c", _RUNNER, *command]
    with out.open("wb") as stream:
        done = subprocess.run(
            runner, cwd=ROOT, env=environment, stdout=stream, stderr=subprocess.PIPE, check=False
        )
    told = done.stderr.decode().splitlines()
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}: {told[:3]}")
    cpu_s, peak_kb = told[-1].split()
    return float(cpu_s), int(peak_kb)


def events_per_cpu_s(case: Case, folder: Path) -> float:
    """How fast the engine runs every NPU and every message of a case."""
    files = write_inputs(case, folder / "w")
    run = load_run(
        AstraFiles(
            workload=folder / "w",
            system=files["system"],
            network=files["network"],
            remote_memory=folder / "w.memory.json",
            comm_group=None,
            folder=folder,
        ),
        case.backend,
        {},
    )
    run_unfolded(run.engine_input)
    start = time.process_time()
    events = run_unfolded(run.engine_input).events
    return events / (time.process_time() - start)


def compared(name: str, case: Case, figures: dict[str, object]) -> dict[str, object]:
    """The figures of one case beside the reference's."""
    row: dict[str, object] = {"case": name, **figures}
    reference = case.reference
    if reference is None:
        return row
    cpu_s = figures["cpu_s"]
    assert isinstance(cpu_s, float)
    row |= {"reference_cpu_s": reference.cpu_s, "reference_peak_mb": reference.peak_mb}
    row["reference_finished"] = reference.end_cycles is not None
    row["speedup"] = round(reference.cpu_s / cpu_s, 2)
    if reference.end_cycles is not None:
        row["equal"] = reference.end_cycles == figures["end_cycles"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", action="append", choices=CASES, help="all, if none is named")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
        return
    with tempfile.TemporaryDirectory() as folder:
        run_alike(CASES["torus_4x4x4"], Path(folder))
    rows = []
    for name in args.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(compared(name, CASES[name], run_alike(CASES[name], Path(folder))))
        print(json.dumps(rows[-1]), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rate = events_per_cpu_s(CASES["ring_256"], Path(folder))
    print(json.dumps({"benchmark": "astra", "events_per_cpu_s": round(rate), "cases": rows}))


if __name__ == "__main__":
    main()
