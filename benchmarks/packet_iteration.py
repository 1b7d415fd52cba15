"""CPU seconds of one iteration packet by packet, with trains of packets, and with leaps.

    python benchmarks/packet_iteration.py [--layers 6] [--rails]

GPT-3 13B, tp 8 and dp 8 on 64 A100 in servers of eight; with 6 layers each NPU reduces 1.07 GB of
gradients over 200 Gb/s in 33 million packets of 4,096 bytes. Tensor parallel messages stay inside a
server. Each way runs after a small run that loads the kernels; also told: the iteration's time
against that packet by packet, and what the result itself tells of its error. With --rails instead
one layer on machines of the family rails, with and without the folding of alike parts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simcore.config import Run, load_run
from simcore.result import IterationResult
from simcore.simulation import simulate_run

WAYS: dict[str, dict[str, Any]] = {
    "every packet": {"fold": False},
    "alike parts once": {},
    "train: 8": {"train": 8},
    "train: 16": {"train": 16},
    "steady: true": {"steady": True},
}


def run_of(layers: int, **network: Any) -> Run:
    """The run with so many layers."""
    dimensions = [
        {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
        {"topology": "switch", "npus": 8, "bandwidth": "25 GB/s", "latency": "1700 ns"},
    ]
    workload = {"model": _model(layers, 51200), "sequence": 2048, "global_batch": 64}
    told = {"mtu": "4096 B", "from_dimension": 1, **network}
    return _loaded(workload, {"dimensions": dimensions}, 8, told)


def rails_run(servers: int, sequence: int, **network: Any) -> Run:
    """The run of one layer on so many servers of eight, joined by eight rails."""
    params = {"servers": servers, "npus_per_server": 8, "servers_per_pod": servers, "spines": 4}
    cables = {"npu-nvswitch": {"bandwidth": "300 GB/s", "latency": "350 ns"}}
    speeds = {"bandwidth": "25 GB/s", "latency": "500 ns", "cables": cables}
    workload = {"model": _model(1, 0), "sequence": sequence, "global_batch": servers}
    platform = {"network": {"family": "rails", "params": params, **speeds}}
    return _loaded(workload, platform, servers, network)


def _model(layers: int, vocabulary: int) -> dict[str, Any]:
    sizes = {"hidden": 5120, "heads": 40, "ffn": 20480, "vocabulary": vocabulary}
    return {"name": "gpt3_13b_cut", "kind": "gpt", "layers": layers, **sizes}


def _loaded(
    workload: dict[str, Any], platform: dict[str, Any], dp: int, network: dict[str, Any]
) -> Run:
    table = {
        "version": 1,
        "workload": workload,
        "platform": {"npu": "a100_80", **platform},
        "plan": {"tp": 8, "pp": 1, "dp": dp, "micro_batch": 1, "recompute": "selective"},
        "system": {"chunks": 1},
        "backend": "packet",
        "network": network,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.yaml"
        file.write_text(json.dumps(table))
        return load_run(file)


def timed(run: Run) -> tuple[float, IterationResult]:
    """CPU seconds of a run, and its result."""
    begin = time.process_time()
    result = simulate_run(run)
    return time.process_time() - begin, result


RAILS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "128 NPUs, rails": (16, 2048, {"from_dimension": 1}),
    "64 NPUs, rails and NVLink, InfiniBand": (8, 256, {"transport": "infiniband"}),
    "64 NPUs, rails and NVLink, no control": (8, 256, {"congestion_control": "none"}),
}


def compare_rails() -> None:
    """Print CPU seconds with and without folding; raises AssertionError where answers differ."""
    timed(rails_run(2, 64))
    for name, (servers, sequence, network) in RAILS.items():
        runs = [timed(rails_run(servers, sequence, fold=fold, **network)) for fold in (False, True)]
        (plain_s, plain), (folded_s, folded) = runs
        assert plain.iteration_time_s == folded.iteration_time_s, name
        count = folded.traffic["messages_folded"]
        print(
            f"{name:40} {plain_s:6.2f} CPU s, folded {folded_s:.2f}; {count:.0f} messages folded",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rails", action="store_true")
    given = parser.parse_args()
    if given.rails:
        compare_rails()
        return
    layers = given.layers
    exact_s = 0.0
    for name, settings in WAYS.items():
        timed(run_of(1, train=64, **{"steady": "steady" in settings}))
        taken_s, result = timed(run_of(layers, **settings))
        exact_s = exact_s or result.iteration_time_s
        off = result.iteration_time_s / exact_s - 1
        told = result.traffic.get("sample_error_most", 0.0)
        print(
            f"{name:18} {taken_s:6.2f} CPU s, {result.traffic['packets'] / 1e6:.1f} M packets,"
            f" iteration {result.iteration_time_s * 1e3:.3f} ms ({off:+.3%}), tells {told:.3%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
