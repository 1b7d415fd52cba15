"""Flows against packets on new random cases: `python benchmarks/flow_random_packets.py 0 60`.

Stars, dumbbells, leaf-spine networks and trees of 25 to 200 Gb/s with permutations, all-to-alls,
fan-ins, mice among elephants; DCQCN, HPCC or TIMELY with the parameters of golden/packet, scaled
with the rate. The truth is the packet backend, which equals the recorded cases. Prints each case's
mean time of a flow and last end over the truth, with senders that do not react and that do.
"""

import argparse
import json
import sys
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from packet_cases_as_flows import FOLDER, controlled, simulated

from simcore.packets.case import case_of
from simcore.packets.run import run_case

CONTROLS = ("dcqcn", "hpcc", "timely")
GBPS = 10**9
Rows = list[list[int]]


def network(rng: Random, rate: int) -> tuple[str, int, dict[str, Any]]:
    """Name, hosts, and topology of a case."""
    delay = rng.choice([500, 1000, 2000, 5000])
    shape = rng.choice(["star", "dumbbell", "leafspine", "tree"])
    if shape == "star":
        hosts = rng.choice([3, 5, 8, 12])
        nodes, links = hosts + 1, [[host, hosts, rate, delay] for host in range(hosts)]
    elif shape == "dumbbell":
        half = rng.choice([2, 3, 4])
        hosts, nodes = 2 * half, 2 * half + 2
        links = [[host, hosts + host // half, rate, delay] for host in range(hosts)]
        links.append([hosts, hosts + 1, rate * rng.choice([1, 1, 2]), delay])
    elif shape == "leafspine":
        leaves, each, spines = rng.choice([2, 3, 4]), rng.choice([2, 4]), rng.choice([1, 2])
        hosts, nodes = leaves * each, leaves * each + leaves + spines
        links = [[host, hosts + host // each, rate, delay] for host in range(hosts)]
        above = range(hosts + leaves, nodes)
        links += [[hosts + leaf, top, rate, delay] for leaf in range(leaves) for top in above]
    else:
        hosts, nodes = 8, 15
        links = [[host, 8 + host // 2, rate, delay] for host in range(8)]
        links += [[8 + i, 12 + i // 2, rate * rng.choice([1, 2]), delay] for i in range(4)]
        links += [[12 + i, 14, 2 * rate, delay] for i in range(2)]
    switches = list(range(hosts, nodes))
    return shape, hosts, {"num_nodes": nodes, "switches": switches, "links": links}


def traffic(rng: Random, count: int) -> tuple[str, Rows]:
    """Name, and source, target, bytes and begin of each flow."""
    kind = rng.choice(["perm", "random", "share", "mixed", "a2a", "stagger", "fanin"])
    size = rng.choice([500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000])
    hosts = list(range(count))
    rng.shuffle(hosts)
    few, last = min(count - 1, rng.choice([2, 3, 4])), hosts[-1]

    def drawn(size: int, begin: int) -> list[int]:
        return [*rng.sample(hosts, 2), size, begin]

    if kind == "perm":
        return kind, [[hosts[i], hosts[(i + 1) % count], size, 0] for i in range(count)]
    if kind == "share":
        return kind, [[host, last, size, 0] for host in hosts[:few]]
    if kind == "stagger":
        apart = rng.choice([20_000, 60_000, 100_000])
        return kind, [[host, last, size, i * apart] for i, host in enumerate(hosts[:few])]
    if kind == "fanin":
        both = hosts[-1], hosts[-2]
        return kind, [[hosts[i], both[i % 2], size, 0] for i in range(max(1, count - 2))]
    if kind == "a2a":
        part = max(20_000, size // count)
        return kind, [[a, b, part, 0] for a in hosts for b in hosts if a != b]
    if kind == "random":
        times = [rng.randrange(200_000) for _ in range(rng.randint(2, 2 * count))]
        return kind, [drawn(int(size * rng.choice([0.25, 0.5, 1, 2])), time) for time in times]
    mice = [drawn(rng.choice([2_000, 20_000, 100_000]), rng.randrange(300_000)) for _ in range(8)]
    return kind, [drawn(size, 0) for _ in range(max(2, count // 3))] + mice


def random_case(seed: int) -> tuple[str, dict[str, Any]]:
    """Name and content of a case."""
    rng = Random(seed)
    cc = rng.choice(CONTROLS)
    recorded = json.loads((FOLDER / f"{cc}.share2.same_start.json").read_text())
    params, rate = deepcopy(recorded["params"]), rng.choice([25, 50, 100, 100, 200]) * GBPS
    shape, hosts, topology = network(rng, rate)
    kind, rows = traffic(rng, hosts)
    for key in ("rate_ai", "rate_hai"):
        params[key] = f"{int(float(params[key][:-4]) * rate / (100 * GBPS))}Mb/s"
    for key in ("kmin_kb", "kmax_kb"):
        (most,) = params[key].values()
        rates = {link[2] for link in topology["links"]}
        params[key] = {str(own): most * own // (100 * GBPS) for own in rates}
    params["pmax"] = {str(own): 0.2 for own in rates}
    params["buffer_size"] = 64
    if cc == "hpcc":
        params["int_multi"] = max(1, rate // (25 * GBPS))
    flows = [[number, *row, []] for number, row in enumerate(rows)]
    name = f"{seed} {cc} {rate // GBPS}G {shape}{hosts} {kind}"
    return name, {"cc": cc, "topology": topology, "params": params, "flows": flows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("end", type=int)
    args = parser.parse_args()
    found: dict[str, list[list[float]]] = {cc: [] for cc in (*CONTROLS, "all")}
    for seed in range(args.first, args.end):
        name, case = random_case(seed)
        rows = np.array([row[:3] for row in sorted(run_case(case_of(case)).flows)], float)
        begin, want = rows[:, 1], rows[:, 2]
        ratios = []
        for ends in (simulated(case), controlled(case)):
            ratios += [float((ends - begin).mean() / (want - begin).mean())]
            ratios += [float(ends.max() / want.max())]
        told = "mean {:6.3f}  last {:6.3f}, reacting: mean {:6.3f}  last {:6.3f}".format(*ratios)
        print(f"{name:36} {told}", flush=True)
        for cc in (case["cc"], "all"):
            found[cc].append([abs(ratio - 1.0) for ratio in ratios])
    for cc, errors in found.items():
        if errors:
            table = np.array(errors)
            near = (table[:, 1::2] <= 0.1).mean(axis=0)
            means = np.median(table[:, ::2], axis=0)
            print(
                f"{cc:8} {len(table):4} cases, last end within 10 % in {near[0]:.1%}, reacting "
                f"{near[1]:.1%}; median error of the mean {means[0]:.2%}, {means[1]:.2%}"
            )


if __name__ == "__main__":
    main()
