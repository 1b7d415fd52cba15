"""Compiler of phases, the only one: from an algorithm to the words that kernels read."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from simcore.collectives import (
    CollectiveAlgorithm,
    Exchange,
    Offset,
    PeerRule,
    Step,
    growth,
)
from simcore.collectives.base import Peer
from simcore.collectives.checks import check_steps
from simcore.kernels.collectives import phase_row as words
from simcore.terms import CollectiveKind

_REDUCE_RULE = {
    CollectiveKind.ALL_REDUCE: words.REDUCE_FIRST_HALF,
    CollectiveKind.REDUCE_SCATTER: words.REDUCE_ALWAYS,
}


def program_row(
    algorithm: CollectiveAlgorithm,
    kind: CollectiveKind,
    members: int,
    *,
    in_list: bool = False,
) -> list[int]:
    """The row of ``kernels.collectives.phase_row`` for *members*, at stride 1 in dimension 0.

    Args:
        algorithm: What they run.
        kind: Of the phase.
        members: At least 2.
        in_list: They are those of a list, in which ASTRA-sim 2.0 counts the reductions of the
            direct algorithm otherwise.
    """
    return list(_program_row(algorithm, kind, members, in_list))


@lru_cache(maxsize=4096)
def _program_row(
    algorithm: CollectiveAlgorithm, kind: CollectiveKind, members: int, in_list: bool
) -> tuple[int, ...]:
    machine = algorithm.machine(kind, members)
    row = [0] * words.ROW_WORDS
    row[words.MEMBERS] = members
    row[words.STRIDE] = 1
    row[words.REDUCE_RULE] = _REDUCE_RULE.get(kind, words.REDUCE_NEVER)
    row[words.PEERS] = int(machine.peers)
    row[words.STEPS] = machine.steps
    row[words.PARALLEL] = machine.parallel
    row[words.REDUCED] = machine.reduced
    if in_list and machine.peers is PeerRule.ROTATING:
        row[words.REDUCED] = (members - 1) * machine.parallel
    row[words.DIVISOR] = machine.divisor
    row[words.DISTANCE] = machine.distance
    row[words.SHRINKS] = machine.shrinks
    row[words.WAITS] = machine.waits_for_all
    # a tree performs a whole all-reduce, whatever is asked for
    result = Fraction(1) if machine.peers is PeerRule.TREE else growth(kind, members)
    row[words.RESULT_TIMES], row[words.RESULT_OVER] = result.as_integer_ratio()
    return *row, *step_words(machine.table, members)


def step_words(table: Sequence[Step], members: int) -> list[int]:
    """The words of ``kernels.collectives.step_table``; nothing where there are no steps.

    Raises:
        ConfigError: The steps are none of *members*.
    """
    if not table:
        return []
    check_steps(table, members, f"steps among {members}", by_table=True)
    rows, named = list[int](), list[int]()
    behind = words.STEP_WORDS * sum(step.times for step in table)
    for step in table:
        part, whole = step.size.as_integer_ratio()
        match step.peer:
            case Offset(ahead):
                peer = (words.PEER_AHEAD, ahead % members)
            case Exchange(mask):
                peer = (words.PEER_DIFFERING, mask)
            case _:
                peer = (words.PEER_NAMED, behind + len(named))
                named += _permutation(step.peer, members)
        rows += [part, whole, *peer, int(step.reduces)] * step.times
    return rows + named


def _permutation(peer: Peer, members: int) -> list[int]:
    """The receiver of each member, then the sender to each."""
    found = [peer.receiver(member, members) for member in range(members)]
    receivers = [receiver for receiver in found if receiver is not None]
    sender_to = {receiver: member for member, receiver in enumerate(receivers)}
    return [*receivers, *(sender_to[member] for member in range(members))]
