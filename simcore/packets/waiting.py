"""Says of a run that can never end which flows wait for what."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.packets import layout as f
from simcore.packets.case import Case
from simcore.packets.image import Image

Ints = NDArray[np.int64]

MOST_NAMED = 5
MOST_PORTS = 16
MOST_IDLE_PACKETS = 1 << 25


def who_waits(case: Case, image: Image) -> str:
    """One sentence about the flows that nothing to come can move."""
    table, ids = image.flow_table, case.flows.ids
    open_flows = [index for index in range(len(ids)) if table[index, f.Q_FINISH_NS] < 0]
    started = [index for index in open_flows if table[index, f.Q_START_NS] >= 0]
    reasons = [f"flow {ids[index]} {_reason(image, index)}" for index in started[:MOST_NAMED]]
    if len(started) > MOST_NAMED:
        reasons.append(f"{len(started) - MOST_NAMED} further flows wait likewise")
    unborn = [index for index in open_flows if table[index, f.Q_START_NS] < 0]
    for index in unborn[: MOST_NAMED if len(unborn) < 2 * MOST_NAMED else 1]:
        waits = [
            ids[other] for other in case.flows.before[index] if table[other, f.Q_FINISH_NS] < 0
        ]
        reasons.append(f"flow {ids[index]} waits for the end of flow {waits[0]}")
    if paused := _paused_ports(image):
        reasons.append(f"paused with packets are {paused}")
    told = "; ".join(reasons)
    time_ns = int(image.arena[f.NOW_NS])
    return f"{len(open_flows)} of {len(ids)} flows never end, from {time_ns} ns on: {told}."


class Progress:
    """Watches whether a run gets on: packets may go round for ever with none acknowledged."""

    def __init__(self) -> None:
        self._acked, self._handled = -1, 0

    def is_made(self, image: Image, acked: int) -> bool:
        """False if very many packets have come and gone since a new byte was acknowledged.

        Args:
            image: Of the run.
            acked: Bytes of all flows that have been acknowledged.
        """
        handled = int(image.arena[[f.TAKEN_PACKETS, f.DROPS, f.LOST_PACKETS]].sum())
        if acked != self._acked:
            self._acked, self._handled = acked, handled
        return handled - self._handled < MOST_IDLE_PACKETS


def gave_up(retries: int) -> str:
    """Reason why lost bytes of a flow are not sent again, after so many *retries*."""
    return f"it gave up after {retries} retries" if retries else "nothing sends lost ones again"


def _reason(image: Image, index: int) -> str:
    row = image.flow_table[index]
    port = int(row[f.Q_PORT])
    source = int(image.arena[image.arena[port + f.PORT_NODE] + f.NODE_ID])
    acked, sent, size = int(row[f.Q_ACKED]), int(row[f.Q_NEXT]), int(row[f.Q_SIZE])
    if sent > acked:
        held = _held_packets(image, index)
        if held:
            return f"has {held} packets in queues whose ports are paused"
        why = gave_up(int(row[f.Q_RETRIES]))
        return (
            f"waits for an ACK of bytes {acked} to {sent} of {size}, which were lost or dropped:"
            f" {why}"
        )
    if image.arena[port + f.PORT_PAUSED]:
        return f"may not send: host {source} is paused, and nobody lets it go on"
    return f"waits with {acked} of {size} bytes acknowledged"


def _paused_ports(image: Image) -> str:
    """Ports of switches that are paused and hold packets, by where they lead."""
    owner, ports = image.network.owner, image.port_table
    held = (ports[:, f.PORT_PAUSED] != 0) & (ports[:, f.PORT_EGRESS] > 0)
    named = [f"{owner[port]} to {owner[port ^ 1]}" for port in held.nonzero()[0].tolist()]
    more = len(named) - MOST_PORTS
    return ", ".join(named[:MOST_PORTS]) + (f" and {more} more" if more > 0 else "")


def _first_packets(image: Image, port: Ints) -> list[int]:
    """First packet that waits at a port, of each of its lanes; 0: none."""
    lanes = int(image.arena[f.LANES])
    if lanes == 1:
        return [int(port[f.PORT_FIRST])]
    first = int(port[f.PORT_LANES])
    return [int(packet) for packet in image.table(first, lanes, f.LANE_WORDS)[:, f.LANE_FIRST]]


def _held_packets(image: Image, index: int) -> int:
    """Packets of a flow that stand in queues."""
    arena, count = image.arena, 0
    flow = image.flows + f.Q_WORDS * index
    for port in image.port_table:
        for packet in _first_packets(image, port):
            while packet:
                count += int(arena[packet + f.P_QP]) == flow
                packet = int(arena[packet + f.E_NEXT])
    return count
