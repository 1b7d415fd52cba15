"""Synthesised collectives beside exact bounds and beside TACOS, graph by graph.

    python benchmarks/synthesis.py [--kinds all_gather,all_reduce] [--graphs mesh]
    python benchmarks/synthesis.py --size torus,fat_tree [--npus 512] [--kinds all_to_all]

With --size: networks of 1,024 NPUs (a dragonfly of 1,056) or 512, share of the proven bound, CPU
seconds and memory.
Bounds and TACOS's shares are those of shared/golden/flow/bounds; latencies are left out, as there.
A share is bound / time: 1 is the best there can be. Every schedule has been replayed. Where the
bound is not tight, `achievable` holds the share of what is known to be achievable.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Any

from simcore.graphs.network_table import NetworkFile
from simcore.synthesis.fabric import fabric_of, read_fabric
from simcore.synthesis.kinds import ALL_GATHER, KINDS, REDUCE_SCATTER
from simcore.synthesis.synthesise import synthesise

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "golden" / "flow" / "bounds"
ASKED = {ALL_GATHER: 0.95, REDUCE_SCATTER: 0.95}


LARGE: dict[str, dict[str, Any]] = {
    "torus": {"params": {"dims": [16, 8, 8]}},
    "fat_tree": {"params": {"k": 16}},
    "dragonfly": {"params": {"p": 4, "a": 8, "h": 4}},
    "rails": {  # servers whose NPUs reach each other nine times as fast
        "params": {"servers": 128, "npus_per_server": 8, "servers_per_pod": 32, "spines": 8},
        "cables": {"npu-nvswitch": {"bandwidth": "450 GB/s", "latency": "0 s"}},
    },
}


MIDDLING: dict[str, dict[str, Any]] = {
    "torus": {"params": {"dims": [8, 8, 8]}},
    "fat_tree": {"params": {"k": 16, "hosts_per_edge": 4}},
    "dragonfly": {"params": {"p": 4, "a": 8, "h": 4, "groups": 16}},
    "rails": {
        "params": {"servers": 64, "npus_per_server": 8, "servers_per_pod": 32, "spines": 8},
        "cables": LARGE["rails"]["cables"],
    },
}


def at_size(names: list[str], kinds: list[str], networks: dict[str, dict[str, Any]]) -> None:
    """Print times of syntheses on large networks."""
    print(f"{'network':10} {'NPUs':>5} {'collective':14} {'share':>7} {'CPU s':>6} {'MiB':>6}  by")
    for name in names:
        speeds = {"bandwidth": "50 GB/s", "latency": "0 s"}
        network = NetworkFile.from_file_data({"family": name, **speeds, **networks[name]}, at=name)
        fabric = fabric_of(network.graph())
        for kind in kinds:
            begin = process_time()
            found = synthesise(fabric, kind)
            took = process_time() - begin
            memory = getrusage(RUSAGE_SELF).ru_maxrss >> 10
            told = f"{found.share:7.4f} {took:6.1f} {memory:6}  {found.by}"
            print(f"{name:10} {fabric.npus:5} {kind:14} {told}", flush=True)


def rows(name: str) -> list[dict[str, str]]:
    """Rows of a table of bounds."""
    with open(FOLDER / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Print the table, and how many rows reach what is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--graphs", default="", help="only those whose name holds this")
    parser.add_argument("--size", default="", help=f"large networks: {', '.join(LARGE)}")
    parser.add_argument("--npus", type=int, default=1024, choices=(512, 1024), help="of those")
    asked = parser.parse_args()
    if asked.size:
        networks = LARGE if asked.npus == 1024 else MIDDLING
        at_size(asked.size.split(","), asked.kinds.split(","), networks)
        return
    tacos: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows("peer_tacos.csv"):
        key = row["graph"], row["collective"]
        tacos[key] = max(tacos[key], float(row["best_share_of_bound"]))
    reached: dict[str, list[bool]] = defaultdict(list)
    print(
        f"{'graph':30} {'collective':14} {'share':>7} {'achievable':>10} {'TACOS':>7} {'CPU s':>6}"
    )
    for row in rows("bounds.csv"):
        graph, kind = row["graph"], row["collective"]
        if kind not in asked.kinds.split(",") or asked.graphs not in graph:
            continue
        fabric = read_fabric(FOLDER / "graphs" / f"{graph}.json").without_latency()
        begin = process_time()
        time = synthesise(fabric, kind).schedule.time
        took = process_time() - begin
        share = float(row["bandwidth_bound"]) / time
        known = float(row["achievable"]) / time
        peer = tacos[graph, kind]
        if row["tight"] == "True":
            reached[kind].append(share >= max(ASKED.get(kind, 0.9), peer - 1e-9))
        told = f"{peer:7.4f}" if peer else "      -"
        print(f"{graph:30} {kind:14} {share:7.4f} {known:10.4f} {told} {took:6.1f}", flush=True)
    for kind, good in reached.items():
        print(f"{kind}: {sum(good)} of {len(good)} reach what is asked, none below TACOS counted")


if __name__ == "__main__":
    main()
