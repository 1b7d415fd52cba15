"""Random cases: network, system file and options; ``workloads`` fills the traces."""

from __future__ import annotations

from math import log2, prod
from random import Random

from case import Case, Traces
from workloads import KINDS

_TOPOLOGIES = ("Ring", "FullyConnected", "Switch")
_KEYS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
_MOST_NPUS = 36


def random_case(seed: int, number: int) -> Case:
    """Case *number* of a seed; the same each time, whatever came before."""
    rng = Random(f"{seed}:{number}")
    kind = rng.choice(tuple(KINDS))
    dimensions = _dimensions(rng)
    case = Case(
        kind=kind,
        dimensions=dimensions,
        system=_system(rng, [size for _, size, _, _ in dimensions]),
        memory={"memory-type": "NO_MEMORY_EXPANSION"},
        options=_options(rng),
        traces=Traces(rng, prod(size for _, size, _, _ in dimensions)),
    )
    KINDS[kind](case)
    return case


def _dimensions(rng: Random) -> list[tuple[str, int, float, float]]:
    count = rng.choice((1, 1, 1, 2, 2, 3, 4))
    while True:
        sizes = [rng.choice((2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 16)) for _ in range(count)]
        if prod(sizes) <= _MOST_NPUS:
            break
    return [
        (
            rng.choice(_TOPOLOGIES),
            size,
            rng.choice((1.0, 12.5, 50.0, 100.0, 333.3)),
            rng.choice((0.0, 1.0, 10.5, 500.0, 3000.0)),
        )
        for size in sizes
    ]


def _system(rng: Random, sizes: list[int]) -> dict[str, object]:
    system: dict[str, object] = {
        "scheduling-policy": rng.choice(("LIFO", "FIFO", "EXPLICIT")),
        "collective-optimization": rng.choice(("baseline", "localBWAware")),
        "preferred-dataset-splits": rng.choice((1, 1, 2, 3, 4, 8, 16)),
        "active-chunks-per-dimension": rng.choice((1, 1, 2, 3, 8)),
        "local-mem-bw": rng.choice((50, 100.5, 1600)),
    }
    if rng.random() < 0.8:
        system["endpoint-delay"] = rng.choice((1, 10, 100, 1000))
    for key in _KEYS:
        system[f"{key}-implementation"] = _algorithms(rng, key, sizes)
    if rng.random() < 0.15:
        system |= {
            "model-shared-bus": 1,
            "L": rng.randrange(200),
            "o": rng.randrange(1, 20),
            "g": rng.randrange(60),
            "G": rng.choice((0.0, 0.01, 0.02, 0.0038, 0.1)),
            "local-reduction-delay": rng.randrange(1, 5),
        }
    if rng.random() < 0.25:
        system |= {"roofline-enabled": 1, "peak-perf": rng.choice((10, 312.5))}
    if rng.random() < 0.08:
        system["replay-only"] = 1
    return system


def _algorithms(rng: Random, key: str, sizes: list[int]) -> list[str]:
    if rng.random() < 0.1:
        return [rng.choice(("oneRing", "oneDirect"))]
    names = [_algorithm(rng, key, size) for size in sizes]
    if len(names) > 1 and rng.random() < 0.08:
        names.pop()
    return names


def _algorithm(rng: Random, key: str, size: int) -> str:
    names = ["ring", "ring", "direct", f"direct{rng.randrange(1, 6)}"]
    if log2(size).is_integer() and key != "all-to-all":
        names += ["halvingDoubling"]
        if key == "all-reduce":
            names += ["doubleBinaryTree"]
    return rng.choice(names)


def _options(rng: Random) -> dict[str, str]:
    options = {}
    if rng.random() < 0.4:
        options["num-queues-per-dim"] = str(rng.randrange(1, 5))
    if rng.random() < 0.15:
        options["injection-scale"] = str(rng.choice((0.5, 1.5, 3)))
    if rng.random() < 0.15:
        options["rendezvous-protocol"] = "true"
    return options
