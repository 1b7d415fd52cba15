"""Sends and receives of programs, and which of them meet."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engines.events.fold.relations import CannotFoldError
from simcore.engines.events.input import Ints
from simcore.engines.events.programs import Program
from simcore.engines.events.writer import TAG_RANGE
from simcore.kernels.events import layout

Key = tuple[int, int, int]
"""Peer, tag and bytes: what sends and receives find each other by."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ends:
    """The sends (or the receives) of a program.

    Attributes:
        keys: Distinct keys, in order of appearance.
        rows: (E,) int64, positions of the nodes.
        key_of: (E,) int64, key of each.
        nodes: Nodes of the program.
    """

    keys: tuple[Key, ...]
    rows: Ints
    key_of: Ints
    nodes: int

    def spread(self, values: Ints) -> Ints:
        """(T,) int64: *values*, (E,), at the positions of these nodes, else 0."""
        out = np.zeros(self.nodes, np.int64)
        out[self.rows] = values
        return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfers:
    """Sends and receives of a program.

    Attributes:
        sends: The sends.
        receives: The receives.
        peers: (P,) int64, distinct peers, in order of appearance.
        pattern: Arrays that say which transfers share keys and peers, whatever these are.
    """

    sends: Ends
    receives: Ends
    peers: Ints
    pattern: tuple[Ints, ...]


def transfers_of(program: Program, action: Ints) -> Transfers:
    """The transfers of a program; *action* is (T,) int64, what its nodes do."""
    sends = _ends(program, np.flatnonzero(action == layout.ACTION_SEND))
    receives = _ends(program, np.flatnonzero(action == layout.ACTION_RECV))
    both = [*sends.keys, *receives.keys]
    peers = list(dict.fromkeys(peer for peer, _, _ in both))
    peer_of = [peers.index(peer) for peer, _, _ in both] if both else []
    return Transfers(
        sends=sends,
        receives=receives,
        peers=np.array(peers, np.int64),
        pattern=(sends.key_of, receives.key_of, np.array(peer_of, np.int64)),
    )


def _ends(program: Program, rows: Ints) -> Ends:
    keys = list(
        zip(
            program.peer[rows].tolist(),
            (program.tag[rows] % TAG_RANGE).tolist(),
            program.size_bytes[rows].tolist(),
            strict=True,
        )
    )
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return Ends(
        keys=tuple(number),
        rows=rows,
        key_of=np.array([number[key] for key in keys], np.int64),
        nodes=program.kind.size,
    )


def matched(program_of_npu: Ints, transfers: Sequence[Transfers]) -> dict[int, Ints]:
    """Per NPU that sends, for each key of its sends the key of its peer's receives.

    Raises:
        CannotFoldError: Nobody receives a message.
    """
    answers: dict[int, Ints] = {}
    if not any(t.sends.keys for t in transfers):
        return answers
    index = program_of_npu.tolist()
    numbers = [{key: place for place, key in enumerate(t.receives.keys)} for t in transfers]
    for npu, program in enumerate(index):
        found = [
            numbers[index[peer]].get((npu, tag, size), -1)
            for peer, tag, size in transfers[program].sends.keys
        ]
        if -1 in found:
            raise CannotFoldError("a message has no receiver")
        if found:
            answers[npu] = np.array(found, np.int64)
    return answers
