"""Phases, networks and NPUs as the kernels of collectives read them: arrays of numbers."""

from collections.abc import Sequence

import numpy as np

from simcore.collectives import CollectiveAlgorithm, PeerRule, algorithm_named
from simcore.hardware.dimension import Dimension
from simcore.kernels import phase_row as words
from simcore.kernels.topology_codes import FULLY_CONNECTED, RING, SWITCH
from simcore.system.collective_cache import Rows
from simcore.system.engine_input import Floats
from simcore.system.phases import Phase
from simcore.terms import CollectiveKind, TopologyKind

TOPOLOGY_CODE = {
    TopologyKind.RING: RING,
    TopologyKind.FULLY_CONNECTED: FULLY_CONNECTED,
    TopologyKind.SWITCH: SWITCH,
}
_PEERS = {
    PeerRule.NEIGHBOUR: words.PEERS_NEIGHBOUR,
    PeerRule.ROTATING: words.PEERS_ROTATING,
    PeerRule.HALVING: words.PEERS_HALVING,
}
_REDUCE_RULE = {
    CollectiveKind.ALL_REDUCE: words.REDUCE_FIRST_HALF,
    CollectiveKind.REDUCE_SCATTER: words.REDUCE_ALWAYS,
}


def phase_rows(
    phases: Sequence[Phase], dimensions: Sequence[Dimension], known: Rows
) -> list[list[int]]:
    """A row of ``kernels.phase_row`` per phase of a chunk; *known* keeps what recurs."""
    return [phase_row(phase, dimensions[phase.dimension], known) for phase in phases]


def phase_row(phase: Phase, over: Dimension, known: Rows) -> list[int]:
    """The row of one phase, *over* a dimension."""
    row = program_row(phase.algorithm, phase.kind, phase.members, known)
    alike = algorithm_named(phase.algorithm).alike
    row[words.STRIDE] = phase.stride
    row[words.DIMENSION] = phase.dimension
    row[words.ALIKE] = alike(over.topology, over.npus, phase.members, phase.stride)
    return row


def program_row(
    algorithm: str, kind: CollectiveKind, members: int, known: Rows, *, in_list: bool = False
) -> list[int]:
    """The row of *members* that differ, at stride 1 in dimension 0.

    Args:
        algorithm: What they run, by name.
        kind: Of the phase.
        members: At least 2.
        known: Rows made before.
        in_list: They are those of a list, in which ASTRA-sim 2.0 counts the reductions of the
            direct algorithm otherwise.
    """
    key = (algorithm, kind, members, in_list)
    row = known.get(key)
    if row is None:
        row = known.put(key, _program_row(algorithm_named(algorithm), kind, members, in_list))
    return row.copy()


def _program_row(
    algorithm: CollectiveAlgorithm, kind: CollectiveKind, members: int, in_list: bool
) -> list[int]:
    probe_bytes = 4 * members
    program = algorithm.program(kind, members, probe_bytes)
    row = [0] * words.ROW_WORDS
    row[words.MEMBERS] = members
    row[words.STRIDE] = 1
    row[words.REDUCE_RULE] = _REDUCE_RULE.get(kind, words.REDUCE_NEVER)
    row[words.RESULT_TIMES] = row[words.RESULT_OVER] = 1
    if program is None:  # members have different roles: a tree, which leaves the size as it is
        row[words.PEERS] = words.PEERS_TREE
        row[words.DIVISOR] = row[words.PARALLEL] = 1
        return row
    reduced = program.reduced
    if in_list and program.peers is PeerRule.ROTATING:
        reduced = (members - 1) * program.parallel
    row[words.PEERS] = _PEERS[program.peers]
    row[words.STEPS] = program.steps
    row[words.PARALLEL] = program.parallel
    row[words.REDUCED] = reduced
    row[words.DIVISOR] = probe_bytes // program.first_bytes
    row[words.DISTANCE] = program.first_distance
    row[words.SHRINKS] = program.factor > 1.0
    row[words.WAITS] = program.waits_for_all
    row[words.RESULT_TIMES] = max(program.result_bytes // probe_bytes, 1)
    row[words.RESULT_OVER] = max(probe_bytes // program.result_bytes, 1)
    return row


def network_array(dimensions: Sequence[Dimension]) -> Floats:
    """(D, LINK_WORDS) float64."""
    links = [
        (
            TOPOLOGY_CODE[dimension.topology],
            dimension.npus,
            dimension.link_bandwidth_bytes_per_s / 1e9,
            dimension.latency_s * 1e9,
        )
        for dimension in dimensions
    ]
    return np.array(links, np.float64)


def local_array(delay_ns: int, memory_bytes_per_s: float) -> Floats:
    """(LOCAL_WORDS,) float64; the bandwidth rounded as the unfolded engine's, given in B/ns."""
    return np.array((delay_ns, memory_bytes_per_s / 1e9 * 1e9), np.float64)
