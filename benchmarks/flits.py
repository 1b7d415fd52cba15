#!/usr/bin/env python3
"""Flit-hops per CPU second of networks under a load, and the memory of large ones.

    python benchmarks/flits.py [NAME ...]

The four networks and loads are those of BookSim 2's figures in the speed page (4 channels of 8
flits, iSLIP, uniform traffic, 6,000 cycles), and each once more at a load of 0.02. A flit-hop is
one flit through one router; CPU seconds are those of this process, after a warm-up.
"""

import resource
import sys
import time
from typing import Any

import numpy as np

from simcore.flits.case import read_case
from simcore.flits.simulate import Network
from simcore.kernels.flits import network as words

CYCLES = 6000
NETWORKS: dict[str, tuple[dict[str, Any], float]] = {
    "mesh 4x4": ({"topology": "mesh", "k": 4, "n": 2, "packet_size": 1}, 0.30),
    "mesh 8x8": ({"topology": "mesh", "k": 8, "n": 2, "packet_size": 1}, 0.20),
    "torus 8x8": ({"topology": "torus", "k": 8, "n": 2, "packet_size": 4}, 0.30),
    "torus 4x4x4": ({"topology": "torus", "k": 4, "n": 3, "packet_size": 4}, 0.40),
    "mesh 64x64": ({"topology": "mesh", "k": 64, "n": 2, "packet_size": 4}, 0.05),
    "torus 8x8x8": ({"topology": "torus", "k": 8, "n": 3, "packet_size": 4}, 0.20),
}
LARGE = ("mesh 64x64", "torus 8x8x8")
ROUTES = {"mesh": "dor", "torus": "dim_order"}


def flit_hops(network: dict[str, Any], load: float, cycles: int) -> tuple[int, float]:
    """Flit-hops of packets that arrived in so many cycles, and CPU seconds."""
    routes = ROUTES[network["topology"]]
    case = read_case({**network, "num_vcs": 4, "vc_buf_size": 8, "routing_function": routes})
    one = Network(case, {}, 1)
    one.offer(load)
    start = time.process_time()
    one.run(load, cycles, (0, 1 << 60))
    spent = time.process_time() - start
    return int(np.int64(one.total(words.PASSED)) * case.how.size), spent


def main() -> int:
    """Print a line per network and load."""
    names = sys.argv[1:] or list(NETWORKS)
    flit_hops(NETWORKS["mesh 4x4"][0], 0.1, 10)
    print(f"{'network':12} {'load':>5} {'flit-hops':>11} {'CPU s':>7} {'M flit-hops/s':>14} GB")
    for name in names:
        network, load = NETWORKS[name]
        for rate in (load,) if name in LARGE else (load, 0.02):
            cycles = 1000 if name in LARGE else round(CYCLES * (20 if rate < load else 1))
            hops, spent = flit_hops(network, rate, cycles)
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
            told = f"{name:12} {rate:5.2f} {hops:11,} {spent:7.2f}"
            print(f"{told} {hops / spent / 1e6:14.2f} {most:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
