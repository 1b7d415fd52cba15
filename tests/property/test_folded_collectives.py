"""Collectives of a grid, with one member simulated for all alike ones, against all simulated."""

from collections import Counter
from math import prod
from random import Random

import numpy as np
import pytest
from every_case import with_every

from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.placement import Placement
from simcore.engines.events.fold import run as folded
from simcore.engines.events.input import EngineInput, EngineOutput, Ints
from simcore.errors import SimulationError
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import CollectiveKind

MOST_NPUS = 300
REDUCTIONS = [
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
]
ALGORITHMS = ["ring", "direct", "halving_doubling", "double_binary_tree", "double_binary_tree"]
MEMORY_BYTES_PER_S = 2e12
RAN: Counter[str] = Counter()

Call = tuple[CollectiveKind, Placement, int, Ints | None, int]


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[EngineOutput]:
    """What the folded engine has answered."""
    seen, run = list[EngineOutput](), folded.run_folded

    def watched(inputs: EngineInput) -> EngineOutput:
        seen.append(run(inputs))
        return seen[-1]

    monkeypatch.setattr(folded, "run_folded", watched)
    return seen


def dimension(rng: Random, npus: int) -> Dimension:
    return Dimension(
        topology=rng.choice(["ring", "fully_connected", "switch", "mesh"]),
        npus=npus,
        bandwidth_bytes_per_s=rng.choice([20e9, 50e9, 333e9]),
        latency_s=rng.choice([0.0, 25e-9, 700e-9]),
    )


def system(rng: Random, dimensions: int) -> System:
    return System(
        chunks=rng.choice([1, 2, 3, 4, 8, 16]),
        active_chunks_per_dimension=rng.choice([1, 1, 2]),
        collective_optimization=rng.choice(["baseline", "local_bw_aware"]),
        scheduling=rng.choice(["lifo", "fifo"]),
        endpoint_delay_s=rng.choice([10e-9, 0.0, 137e-9]),
        inter_dimension=rng.choice(["ascending", "ascending", "round_robin", "offline_greedy"]),
        all_reduce=tuple(rng.choice(ALGORITHMS) for _ in range(dimensions)),
    )


def placement(rng: Random, sizes: list[int]) -> Placement:
    extent = [rng.choice([d for d in range(2, npus + 1) if npus % d == 0]) for npus in sizes]
    room = [npus // members for npus, members in zip(sizes, extent, strict=True)]
    stride = [rng.choice([d for d in range(1, most + 1) if most % d == 0]) for most in room]
    return Placement(extent=tuple(extent), stride=tuple(stride))


def starts(rng: Random, extent: tuple[int, ...]) -> Ints | None:
    """At once; by the place in some dimensions; or at random one of three times."""
    way = rng.choice(["at once", "at once", "by place", "by chance"])
    if way == "at once":
        return None
    if way == "by chance":
        times = [rng.randrange(20_000) for _ in range(3)]
        return np.array([rng.choice(times) for _ in range(prod(extent))], np.int64)
    late = np.zeros(1, np.int64)
    for members in extent:
        ns = rng.choice([[0] * members, [rng.randrange(20_000) for _ in range(members)]])
        late = (np.array(ns, np.int64)[:, None] + late[None, :]).ravel()
    return late


def case(seed: int) -> tuple[tuple[list[Dimension], System, float], Call]:
    rng = Random(seed)
    while True:
        sizes = [rng.choice([2, 3, 4, 4, 6, 8, 8, 16]) for _ in range(rng.choice([1, 2, 2, 3, 3]))]
        if prod(sizes) <= MOST_NPUS:
            break
    machine = [dimension(rng, npus) for npus in sizes], system(rng, len(sizes)), MEMORY_BYTES_PER_S
    place = placement(rng, sizes)
    size_bytes = rng.choice([1 << 20, 12_345, 7, 3 << 16, rng.randrange(1, 1 << 24)])
    call = rng.choice(REDUCTIONS), place, size_bytes, starts(rng, place.extent), rng.choice([0, 1])
    return machine, call


def ends_of(subsystem: Subsystem, call: Call) -> list[int] | str:
    """Ends of all members, or what is said of those that wait for ever."""
    try:
        ends: list[int] = subsystem.collective_ends(*call).tolist()
    except SimulationError as error:
        return str(error)
    return ends


@with_every("seed", range(300))
def test_each_member_ends_as_if_all_were_simulated(seed: int, outputs: list[EngineOutput]) -> None:
    outputs.clear()
    machine, call = case(seed)
    found = ends_of(Subsystem(*machine), call)
    assert found == ends_of(Subsystem(*machine, fold=False), call)
    trees = "double_binary_tree" in machine[1].algorithms(call[0], ["ring"] * len(machine[0]))
    kind = "trees" if trees else "others"
    RAN[kind] += 1
    RAN[f"{kind} folded"] += bool(outputs and not outputs[0].unfolded_because)


def test_most_of_those_were_folded() -> None:
    if RAN.total() < 300:
        pytest.skip("not all of the collectives above were part of this session")
    assert RAN["trees folded"] > 0.6 * RAN["trees"] > 60
    assert RAN["others folded"] > 0.6 * RAN["others"] > 30


def test_a_tree_is_simulated_once_whatever_the_size_of_the_other_dimensions(
    outputs: list[EngineOutput],
) -> None:
    rng, tree, aside = Random(3), 8, 24
    sizes = [aside, tree]
    runs = System(chunks=5, all_reduce=("ring", "double_binary_tree"))
    machine = [dimension(rng, npus).model_copy(update={"topology": "switch"}) for npus in sizes]
    whole = Placement(extent=(aside, tree), stride=(1, 1))
    Subsystem(machine, runs, MEMORY_BYTES_PER_S).collective_ends(
        CollectiveKind.ALL_REDUCE, whole, 1 << 24
    )
    assert [output.classes for output in outputs] == [tree]
