"""Report of a run packet by packet: traffic, pauses, marks, losses, queues and collisions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.packets import layout as f
from simcore.packets.image import Image

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts of a run.

    Attributes:
        packets: Of data, as receivers took them.
        marked: Of them.
        pauses: Frames that told a port to pause, as received.
        drops: Packets that switches had no room for.
        resent: Packets of data that were sent more than once.
        queue_bytes: Largest queue of a switch.
        queue_at: Its switch and the node that it leads to; None: nothing ever waited.
        flows_in_core: Most flows at once on a link between switches, one way; 0 where packets
            choose their links one by one, or there is none.
        flows_into_host: Likewise on a link from a switch to a host.
    """

    packets: int
    marked: int
    pauses: int
    drops: int
    resent: int
    queue_bytes: int
    queue_at: tuple[int, int] | None
    flows_in_core: int
    flows_into_host: int

    def figures(self) -> dict[str, float]:
        """All counts by name, for tables."""
        return {
            "packets": float(self.packets),
            "packets_marked": float(self.marked),
            "packets_dropped": float(self.drops),
            "packets_resent": float(self.resent),
            "pauses": float(self.pauses),
            "largest_queue_bytes": float(self.queue_bytes),
            "most_flows_between_switches": float(self.flows_in_core),
            "most_flows_into_npu": float(self.flows_into_host),
        }


def report_of(image: Image, flows: Sequence[int], payload: int) -> Report:
    """The report of a run.

    Args:
        image: Of the run, after it.
        flows: Records of the flows.
        payload: Of a full packet, in bytes.
    """
    arena, records, ports = image.arena, np.array(flows, np.int64), image.port_table
    columns = {word: arena[records + word] for word in (f.Q_TAKEN, f.Q_MARKED, f.Q_SENT, f.Q_NEXT)}
    needed = -(-columns[f.Q_NEXT] // payload)
    at, most = _largest_queue(image)
    # flows that took the times of others have the records of these, as the links of alike parts
    core, into = _flows_at_once(image, np.unique(records))
    return Report(
        packets=int(columns[f.Q_TAKEN].sum()),
        marked=int(columns[f.Q_MARKED].sum()),
        pauses=int(ports[:, f.PORT_PAUSES].sum()),
        drops=int(ports[:, f.PORT_DROPS].sum()),
        resent=int(np.maximum(columns[f.Q_SENT] - needed, 0).sum()),
        queue_bytes=most,
        queue_at=at,
        flows_in_core=core,
        flows_into_host=into,
    )


def _largest_queue(image: Image) -> tuple[tuple[int, int] | None, int]:
    """Switch and neighbour of the largest queue, and its bytes."""
    most, owner = image.port_table[:, f.PORT_MOST], image.network.owner
    port = int(most.argmax()) if most.size else 0
    if not most.size or not most[port]:
        return None, 0
    return (int(owner[port]), int(owner[port ^ 1])), int(most[port])


def _flows_at_once(image: Image, records: Ints) -> tuple[int, int]:
    """Most flows at once on a link between switches, and on one from a switch to a host."""
    arena, network = image.arena, image.network
    if arena[f.ROUTING] != f.BY_HASH or not records.size:
        return 0, 0
    records = records[arena[records + f.Q_START_NS] >= 0]
    ports, starts, ends = _ports_of_flows(image, records)
    ends = np.where(ends < 0, int(arena[f.NOW_NS]) + 1, ends)
    changes = np.concatenate([np.ones_like(ports), np.full_like(ports, -1)])
    ports, times = np.concatenate([ports, ports]), np.concatenate([starts, ends])
    order = np.lexsort((changes, times, ports))  # who ends at a time makes room for who starts
    at_once = np.cumsum(changes[order])  # each link's flows have all ended before the next link's
    ports = ports[order]
    from_switch = network.is_switch[network.owner[ports]] != 0
    to_switch = network.is_switch[network.owner[ports ^ 1]] != 0
    core, into = at_once[from_switch & to_switch], at_once[from_switch & ~to_switch]
    return int(core.max(initial=0)), int(into.max(initial=0))


def _ports_of_flows(image: Image, records: Ints) -> tuple[Ints, Ints, Ints]:
    """Each port on the way of each flow, with the flow's start and end of data."""
    arena = image.arena
    step, left = arena[records + f.Q_FORTH], records
    told = bool(arena[f.WAYS_TOLD])
    back = arena[records + f.Q_BACK]
    found: list[tuple[Ints, Ints]] = []
    while left.size:
        at = arena[step]
        # a told way ends with 0, one that was looked for where the way back begins or its last port
        goes_on = at > 0 if told else (step < back) & (at > 0)
        left, step, back, at = left[goes_on], step[goes_on], back[goes_on], at[goes_on]
        found.append((at, left))
        step = step + 1
    ports = np.concatenate([(at - image.ports) // f.PORT_WORDS for at, _ in found])
    flows = np.concatenate([flows for _, flows in found])
    return ports, arena[flows + f.Q_START_NS], arena[flows + f.Q_LAST_BYTE_NS]
