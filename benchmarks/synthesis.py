"""Synthesised collectives beside exact bounds and beside TACOS, graph by graph.

    python benchmarks/synthesis.py [--kinds all_gather,all_reduce] [--graphs mesh]

Bounds and TACOS's shares are those of shared/golden/flow/bounds; latencies are left out, as there.
A share is bound / time: 1 is the best there can be. Every schedule has been replayed. Where the
bound is not tight, `achievable` holds the share of what is known to be achievable.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from time import process_time

from simcore.synthesis.fabric import read_fabric
from simcore.synthesis.kinds import ALL_GATHER, KINDS, REDUCE_SCATTER
from simcore.synthesis.synthesise import synthesise

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "golden" / "flow" / "bounds"
ASKED = {ALL_GATHER: 0.95, REDUCE_SCATTER: 0.95}


def rows(name: str) -> list[dict[str, str]]:
    """Rows of a table of bounds."""
    with open(FOLDER / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Print the table, and how many rows reach what is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--graphs", default="", help="only those whose name holds this")
    asked = parser.parse_args()
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
