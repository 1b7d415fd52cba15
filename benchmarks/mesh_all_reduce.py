#!/usr/bin/env python3
"""All-reduces on a mesh, flit by flit against the analytical backend.

    python benchmarks/mesh_all_reduce.py [--side 16] [--size "64 MiB"] [--meeting "256 KiB"]

Along both dimensions, and around one ring through all NPUs whose neighbours are neighbours on the
mesh, no two messages share a link. By ``direct``, and around a ring in a random order, they do,
at a smaller size: there every flit is followed. Prints times, by how much they differ, CPU seconds
of the flits, and what the network tells of links that were shared.
"""

import argparse
from random import Random
from time import process_time

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.input import EngineInput, GridGroup, ListGroup, SystemOptions
from simcore.engines.events.programs import Program
from simcore.engines.events.run import run_unfolded
from simcore.formats.astra.collective_names import algorithms_of
from simcore.network import Flit, NetworkDimension
from simcore.terms import CollectiveKind, NodeKind
from simcore.units import parse_quantity


def dimension(topology: str, npus: int) -> NetworkDimension:
    """A dimension with links of 64 GB/s and 1 ns."""
    return NetworkDimension(topology=topology, npus=npus, bytes_per_ns=64.0, latency_ns=1.0)


def ring_of_neighbours(side: int) -> list[int]:
    """NPUs of a mesh of an even side, in an order in which neighbours and ends lie together."""
    first = [side * y for y in range(side)]
    back = [
        x + side * y
        for y in range(side - 1, -1, -1)
        for x in (range(1, side) if y % 2 else range(side - 1, 0, -1))
    ]
    return first + back


def program(size_bytes: int | None) -> Program:
    """An all-reduce in group 1; None: nothing."""
    count = 0 if size_bytes is None else 1

    def full(value: int) -> NDArray[np.int64]:
        return np.full(count, value, np.int64)

    return Program(
        node_id=np.arange(count, dtype=np.uint64), kind=full(NodeKind.COLLECTIVE).astype(np.int8),
        on_cpu=full(0).astype(np.bool_), skipped=full(0).astype(np.bool_), duration_ns=full(0),
        comm_kind=full(CollectiveKind.ALL_REDUCE).astype(np.int8), size_bytes=full(size_bytes or 0),
        priority=full(0), group=full(1), involved_dims=full(-1), peer=full(-1), tag=full(0),
        dep_start=np.zeros(count + 1, np.int64), dep=np.zeros(0, np.int64),
    )  # fmt: skip


def measure(side: int, size_bytes: int, algorithm: str, order: list[int] | None) -> None:
    """Print a line: along both dimensions, or around a ring in an *order*.

    A list of all NPUs of a machine would run along its dimensions; so a second mesh stands idle.
    """
    count = side * side
    mesh, pair = dimension("mesh", side), dimension("switch", 2)
    both = GridGroup(extent=np.array([side, side, 1]), stride=np.ones(3, np.int64))
    group = both if order is None else ListGroup(members=np.array(order, np.int64))
    algorithms = {int(kind): algorithms_of([algorithm] * 3) for kind in CollectiveKind}
    found = []
    for backend in ("congestion_unaware", "flit"):
        network = Flit((mesh, mesh, pair)) if backend == "flit" else None
        inputs = EngineInput(
            backend=backend, network=network, dimensions=(mesh, mesh, pair),
            options=SystemOptions(chunks=1, local_mem_bytes_per_ns=1600.0, algorithms=algorithms),
            programs=(program(size_bytes), program(None)),
            program_of_npu=np.repeat([0, 1], count), groups={1: group},
        )  # fmt: skip
        start = process_time()
        found.append(int(run_unfolded(inputs).finish_ns[:count].max()))
    spent = process_time() - start
    plain, flits = found
    print(f"{plain * 1e-3:14,.1f} {flits * 1e-3:14,.1f} {flits / plain - 1:+9.2%} {spent:7.2f}")
    if network is not None:
        print("\n".join(f"    {note}" for note in network.account().notes))


def main() -> None:
    """Measure four ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=16, help="even")
    parser.add_argument("--size", default="64 MiB", help="where no link is shared")
    parser.add_argument("--meeting", default="256 KiB", help="where links are")
    asked = parser.parse_args()
    alone, meeting = (round(parse_quantity(size, "B")) for size in (asked.size, asked.meeting))
    shuffled = list(range(asked.side * asked.side))
    Random(1).shuffle(shuffled)
    print(f"{'':36} {'analytical us':>14} {'flit us':>14} {'':>9} {'CPU s':>7}")
    ways = (
        ("both dimensions, ring", alone, "ring", None),
        ("a ring of neighbours", alone, "ring", ring_of_neighbours(asked.side)),
        ("both dimensions, direct", meeting, "direct", None),
        ("a ring in a random order", meeting, "ring", shuffled),
    )
    for name, size, algorithm, order in ways:
        print(f"{name:24} {size:11,}", end=" ")
        measure(asked.side, size, algorithm, order)


if __name__ == "__main__":
    main()
