"""Schedules as MSCCL XML, which GPU libraries run: per GPU blocks of steps that send and receive.

The form is that of msccl-tools (Cowan et al., MSCCLang, 2023): a block has one peer to send to or
one to receive from, and runs its steps in order; a step may wait for one step of another block of
its GPU. Times are not kept, the order on every connection is.
"""

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from simcore.errors import ConfigError
from simcore.synthesis.fabric import Ints
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from simcore.synthesis.schedule import Schedule

NAMES = {
    ALL_GATHER: "allgather",
    REDUCE_SCATTER: "reduce_scatter",
    ALL_REDUCE: "allreduce",
    ALL_TO_ALL: "alltoall",
}
"""Collectives as MSCCL names them."""

Slot = tuple[str, int]
"""A buffer, ``i``, ``o`` or ``s``, and a place in it."""


@dataclass(slots=True, eq=False)
class _Block:
    send: int
    receive: int
    number: int
    steps: list[Element] = field(default_factory=list)


def msccl_text(schedule: Schedule) -> str:
    """The XML text of a schedule.

    Raises:
        ConfigError: Switches copy or reduce, which MSCCL cannot say, or pieces are unlike.
    """
    blocks, scratch = _blocks(schedule)
    whole, own = len(schedule.owner), len(schedule.owner) // schedule.npus
    if schedule.kind == ALL_TO_ALL:
        own = _index_in_piece(schedule)[1]
        whole = own * schedule.npus
    sizes = {
        ALL_GATHER: (own, whole),
        REDUCE_SCATTER: (whole, own),
        ALL_REDUCE: (whole, whole),
        ALL_TO_ALL: (whole, whole),
    }[schedule.kind]
    algorithm = Element(
        "algo",
        name=f"simcore_{schedule.kind}",
        proto="Simple",
        nchannels="1",
        nchunksperloop=str(whole),
        ngpus=str(schedule.npus),
        coll=NAMES[schedule.kind],
        inplace=str(int(schedule.kind != ALL_TO_ALL)),
        outofplace=str(int(schedule.kind == ALL_TO_ALL)),
    )
    for npu in range(schedule.npus):
        gpu = SubElement(algorithm, "gpu", id=str(npu))
        counts = (*sizes, scratch[npu])
        for name, count in zip(("i_chunks", "o_chunks", "s_chunks"), counts, strict=True):
            gpu.set(name, str(count))
        for block in blocks[npu]:
            ends = {"send": str(block.send), "recv": str(block.receive)}
            thread = SubElement(gpu, "tb", {"id": str(block.number), **ends, "chan": "0"})
            thread.extend(block.steps)
    indent(algorithm)
    return tostring(algorithm, encoding="unicode") + "\n"


def _transfers(schedule: Schedule) -> list[tuple[int, int, int, bool]]:
    """Source, destination, chunk and whether it joins, of each way from NPU to NPU by start."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for send, flight in enumerate(schedule.flight.tolist()):
        first.setdefault(flight, send)
        last[flight] = send
    found = []
    for flight, send in first.items():
        ends = int(schedule.tail[send]), int(schedule.head[last[flight]])
        if max(ends) >= schedule.npus:
            rule = "must have no switch that copies or reduces, for MSCCL"
            raise ConfigError("network", rule, got=f"node {max(ends)}")
        found.append((*ends, int(schedule.chunk[send]), bool(schedule.joins[send])))
    return found


def _index_in_piece(schedule: Schedule) -> tuple[Ints, int]:
    """Number of each chunk among those of its piece, and how many each piece has."""
    key = schedule.owner
    if schedule.kind == ALL_TO_ALL:
        key = schedule.owner * schedule.npus + schedule.target
    order = np.argsort(key, kind="stable")
    begins = np.searchsorted(key[order], key[order])
    index = np.empty(len(key), np.int64)
    index[order] = np.arange(len(key)) - begins
    sizes = np.unique(np.unique(key, return_counts=True)[1])
    if len(sizes) > 1:
        rule = "must have as many chunks in every piece, for MSCCL"
        raise ConfigError("schedule", rule, got=sizes.tolist())
    return index, int(sizes[0]) if len(sizes) else 1


def _blocks(schedule: Schedule) -> tuple[list[list[_Block]], list[int]]:
    """Blocks of each GPU, and how many chunks it keeps for others."""
    own: list[list[_Block]] = [[] for _ in range(schedule.npus)]
    by_peer: dict[tuple[int, int, bool], _Block] = {}
    # block and number of the step that brought each NPU each chunk last
    came: dict[tuple[int, int], tuple[int, int]] = {}
    slots = _Slots(schedule)

    def block(npu: int, peer: int, sends: bool) -> _Block:
        if (npu, peer, sends) not in by_peer:
            ends = (peer, -1) if sends else (-1, peer)
            by_peer[npu, peer, sends] = _Block(*ends, len(own[npu]))
            own[npu].append(by_peer[npu, peer, sends])
        return by_peer[npu, peer, sends]

    if schedule.kind == ALL_TO_ALL:
        for npu in range(schedule.npus):
            own[npu].append(_Block(-1, -1, 0))
            place = npu * slots.size
            _put(own[npu], own[npu][0], "cpy", (("i", place), ("o", place)), None, slots.size)
    for source, target, chunk, joins in _transfers(schedule):
        at, to = slots.of(source, chunk), slots.of(target, chunk)
        _put(own[source], block(source, target, True), "s", (at, to), came.get((source, chunk)))
        # partial sums that come together are added one after the other
        kind, ends = ("rrc", (to, to)) if joins else ("r", (at, to))
        after = came.get((target, chunk)) if joins else None
        receiver = block(target, source, False)
        came[target, chunk] = _put(own[target], receiver, kind, ends, after)
    return own, slots.kept


def _put(
    blocks: list[_Block],
    block: _Block,
    kind: str,
    ends: tuple[Slot, Slot],
    after: tuple[int, int] | None,
    count: int = 1,
) -> tuple[int, int]:
    """Add a step to a block, after another of its GPU: its block and number."""
    (source, place), (target, there) = ends
    waits = (-1, -1)
    if after is not None and after[0] != block.number:
        waits = after
        blocks[after[0]].steps[after[1]].set("hasdep", "1")
    values = {
        "s": len(block.steps),
        "type": kind,
        "srcbuf": source,
        "srcoff": place,
        "dstbuf": target,
        "dstoff": there,
        "cnt": count,
        "depid": waits[0],
        "deps": waits[1],
        "hasdep": 0,
    }
    block.steps.append(Element("step", {name: str(value) for name, value in values.items()}))
    return block.number, len(block.steps) - 1


class _Slots:
    """Places at which each NPU keeps each chunk."""

    def __init__(self, schedule: Schedule) -> None:
        self.kind, self.npus = schedule.kind, schedule.npus
        self.owner, self.target = schedule.owner.tolist(), schedule.target.tolist()
        index, self.size = np.arange(len(self.owner)), 1
        if self.kind != ALL_REDUCE:
            index, self.size = _index_in_piece(schedule)
        self.index = index.tolist()
        self.kept = [0] * self.npus
        self._scratch: dict[tuple[int, int], int] = {}

    def of(self, npu: int, chunk: int) -> Slot:
        """The slot of a chunk at an NPU."""
        owner, index = self.owner[chunk], self.index[chunk]
        if self.kind == ALL_REDUCE:
            return "i", index
        if self.kind != ALL_TO_ALL:
            return ("o" if self.kind == ALL_GATHER else "i"), owner * self.size + index
        if npu == owner:
            return "i", self.target[chunk] * self.size + index
        if npu == self.target[chunk]:
            return "o", owner * self.size + index
        if (npu, chunk) not in self._scratch:
            self._scratch[npu, chunk] = self.kept[npu]
            self.kept[npu] += 1
        return "s", self._scratch[npu, chunk]
