"""Compiler of phases, the only one: from an algorithm to the records that kernels read."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from simcore.collectives import (
    CollectiveAlgorithm,
    Exchange,
    Offset,
    PeerRule,
    Span,
    Step,
    growth,
)
from simcore.collectives.base import Peer
from simcore.collectives.checks import check_steps
from simcore.kernels.collectives import records
from simcore.terms import CollectiveKind

_REDUCE_RULE = {
    CollectiveKind.ALL_REDUCE: records.REDUCE_FIRST_HALF,
    CollectiveKind.REDUCE_SCATTER: records.REDUCE_ALWAYS,
}


@lru_cache(maxsize=4096)
def program_row(
    algorithm: CollectiveAlgorithm, kind: CollectiveKind, members: int, *, in_list: bool = False
) -> records.Program:
    """The row of a phase among *members*, at stride 1 in dimension 0, and its step table.

    Args:
        algorithm: What they run.
        kind: Of the phase.
        members: At least 2.
        in_list: They are those of a list, in which ASTRA-sim 2.0 counts the reductions of the
            direct algorithm otherwise.
    """
    machine = algorithm.machine(kind, members)
    # a tree performs a whole all-reduce, whatever is asked for
    result = Fraction(1) if machine.peers is PeerRule.TREE else growth(kind, members)
    counted_otherwise = in_list and machine.peers is PeerRule.ROTATING
    row = records.PhaseRow(
        members=members,
        peers=int(machine.peers),
        steps=machine.steps,
        parallel=machine.parallel,
        reduced=(members - 1) * machine.parallel if counted_otherwise else machine.reduced,
        divisor=machine.divisor,
        distance=machine.distance,
        shrinks=int(machine.shrinks),
        waits=int(machine.waits_for_all),
        reduce_rule=_REDUCE_RULE.get(kind, records.REDUCE_NEVER),
        result_times=result.numerator,
        result_over=result.denominator,
    )
    return row, tuple(step_words(machine.table, members))


def step_words(table: Sequence[Step], members: int) -> list[int]:
    """The words of ``kernels.collectives.step_table``; nothing where there are no steps.

    Raises:
        ConfigError: The steps are none of *members*.
    """
    if not table:
        return []
    check_steps(table, members, f"steps among {members}", by_table=True)
    rows, named = list[int](), list[int]()
    behind = records.STEP_WORDS * sum(step.times for step in table)
    for step in table:
        part, whole = step.size.as_integer_ratio()
        match step.peer:
            case Offset(ahead):
                peer = (records.PEER_AHEAD, ahead % members)
            case Exchange(mask):
                peer = (records.PEER_DIFFERING, mask)
            case Span(ahead, first, count):
                peer = (records.PEER_SPAN, behind + len(named))
                named += [ahead, first, count]
            case _:
                peer = (records.PEER_NAMED, behind + len(named))
                named += _permutation(step.peer, members)
        rows += [part, whole, *peer, int(step.reduces)] * step.times
    return rows + named


def _permutation(peer: Peer, members: int) -> list[int]:
    """The receiver of each member, then the sender to each; NOBODY where there is none."""
    found = [peer.receiver(member, members) for member in range(members)]
    sender_to = {receiver: member for member, receiver in enumerate(found) if receiver is not None}
    receivers = [records.NOBODY if receiver is None else receiver for receiver in found]
    return [*receivers, *(sender_to.get(member, records.NOBODY) for member in range(members))]
