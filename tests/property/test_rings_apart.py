"""Rings whose members start apart end as if each step of each chunk were followed."""

from random import Random

import numpy as np
from every_case import with_every

from simcore.collectives import algorithm_named
from simcore.engines.collectives.phases import Phase
from simcore.engines.collectives.rows import machine_of, phase_row, row_arrays
from simcore.kernels.collectives.phase_machine import is_reduced, reduction_ns, travel_ns
from simcore.kernels.collectives.phase_members import rounds_ends
from simcore.machine import Dimension
from simcore.terms import CollectiveKind


@with_every("seed", range(200))
def test_chunks_go_round_a_ring_as_if_each_step_were_followed(seed: int) -> None:
    rng = Random(seed)
    members, size_bytes, delay_ns = (
        rng.randint(2, 12),
        rng.choice([64, 1 << 20]),
        rng.choice([0, 7]),
    )
    dimension = Dimension(
        topology=rng.choice(["ring", "mesh", "switch"]),
        npus=members,
        bandwidth_bytes_per_s=50e9,
        latency_s=rng.choice([0.0, 700e-9]),
    )
    kind = rng.choice([CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER])
    phase = Phase(
        dimension=0, kind=kind, algorithm=algorithm_named("ring"), members=members, stride=1
    )
    rows, tables = row_arrays([phase_row(phase, dimension)])
    machine = machine_of([dimension], delay_ns, 2e12)
    spread = rng.choice([1, 1000, 10**7])
    start = np.array([rng.randrange(spread) for _ in range(members)])
    rounds, row, end = rng.randint(1, 9), rows[0], start.tolist()
    packet = size_bytes // int(row["divisor"])
    for _ in range(rounds):
        end = [time + delay_ns for time in end]
        for step in range(1, int(row["steps"]) + 1):
            senders = [(i - int(row["distance"])) % members for i in range(members)]
            received = [
                max(end[i], end[sender] + travel_ns(machine, sender, i, packet))
                for i, sender in enumerate(senders)
            ]
            cost = delay_ns + (reduction_ns(packet, 2e12) if is_reduced(row, step) else 0)
            end = [time + cost for time in received]
    found = np.zeros(members, np.int64)
    ids = np.arange(members)
    assert rounds_ends(rows, tables, size_bytes, ids, machine, start, found, rounds)
    assert found.tolist() == end
