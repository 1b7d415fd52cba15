"""Bounds of what an iteration sends, whatever the machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from simcore.engines.events.input import Ints
from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, CollectiveOp, GroupLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Most that the algorithms need, added up over one NPU of every stage.

    Attributes:
        rounds: Rounds of sends, one after the other, of collectives that are one chunk.
        sent_bytes: Bytes that these rounds send one after the other.
        member_bytes: Bytes by which they grow for each chunk that a collective is cut into, since
            a chunk has at least one byte per member.
        largest_bytes: Of one buffer.
    """

    rounds: float
    sent_bytes: float
    member_bytes: float
    largest_bytes: int

    @classmethod
    def of(
        cls,
        collectives: Sequence[CollectiveOp],
        groups: Mapping[Axis, GroupLayout],
        runs: Ints,
        messages: Ints,
        message_bytes: Ints,
    ) -> Self:
        """The traffic of an iteration.

        Among g members a ring takes 2 (g - 1) rounds, and none of the algorithms more; a double
        tree sends its buffer 2 log2 g times one after the other, and all others at most twice.

        Args:
            collectives: All C of them.
            groups: Their members.
            runs: (S, C) int64, of each at each stage.
            messages: (2, S) int64, between stages.
            message_bytes: (2, S) int64, size of each of these.
        """
        rounds = float(messages.sum())
        sent_bytes = float((messages * message_bytes.astype(float)).sum())
        member_bytes, largest = 0.0, int(message_bytes.max(initial=0))
        for operation, times in zip(collectives, runs.sum(axis=0).tolist(), strict=True):
            members = groups[operation.axis].size
            shards = members if operation.kind is CollectiveKind.ALL_GATHER else 1
            buffer_bytes = operation.size_bytes * shards
            trips = 2.0 * (members.bit_length() + 1)
            rounds += times * 4.0 * members
            sent_bytes += times * trips * buffer_bytes
            member_bytes += times * trips * members
            largest = max(largest, buffer_bytes)
        return cls(
            rounds=rounds, sent_bytes=sent_bytes, member_bytes=member_bytes, largest_bytes=largest
        )
