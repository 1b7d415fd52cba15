"""Links that fail, come back or get slower while a run goes on, and the ways chosen anew for it."""

from collections.abc import Iterable, Sequence

from simcore.errors import ConfigError
from simcore.kernels.packets import layout as f
from simcore.kernels.packets.begin import plan_event
from simcore.kernels.packets.ways.paths import choose_other_path
from simcore.packets.files.link_rows import LinkChange
from simcore.packets.image import Image
from simcore.packets.network import rerouted
from simcore.packets.parameters import Parameters


class LinkChanges:
    """Changes of links in a run.

    Args:
        changes: By time.
        image: Of the run, before its first event.
        run: Parameters of the run.

    Raises:
        ConfigError: There is no such link, or ways are told and not looked for.
    """

    def __init__(self, changes: Sequence[LinkChange], image: Image, run: Parameters) -> None:
        if changes and image.arena[f.WAYS_TOLD]:
            rule = "must be none where pairs of hosts keep the ways that they are told"
            raise ConfigError("link_changes", rule, got=len(changes))
        self._to_come = list(changes)
        self._reroute_ns, self._payload = run.reroute_ns, run.packet_payload_size
        owner = image.network.owner.reshape(-1, 2)
        self._rates = image.network.rate[::2].copy()
        self._link = {change.ends: _link(owner.tolist(), change) for change in changes}
        for change in changes:
            port = image.ports + f.PORT_WORDS * 2 * self._link[change.ends]
            plan_event(image.arena, change.time_ns, f.LINK_CHANGE, port, change.rate)
            plan_event(image.arena, change.time_ns + run.reroute_ns, f.REROUTE, 0, 0)
        image.arena[f.LINKS_FAIL] = bool(changes)

    def reroute(self, image: Image, flows: Iterable[int]) -> None:
        """Look for ways over the links that are up now, for *flows* and those to come.

        Args:
            image: Of the run, whose arena grows.
            flows: Records of those that have begun and not ended.
        """
        now_ns = int(image.arena[f.NOW_NS]) - self._reroute_ns
        while self._to_come and self._to_come[0].time_ns <= now_ns:
            change = self._to_come.pop(0)
            self._rates[self._link[change.ends]] = change.rate
        network = rerouted(image.network, self._rates, self._payload)
        size = network.first.size + network.hops.size
        first = image.take_words(size)
        hops = first + network.first.size
        image.arena[first:hops] = hops + network.first
        image.arena[hops : first + size] = image.ports + f.PORT_WORDS * network.hops
        image.arena[f.NEXT_HOPS] = first
        room = 2 * network.most_links
        for flow in flows:
            if image.arena[f.ROUTING] in (f.IN_TURN, f.SHORTEST_QUEUE):
                break  # every packet asks anew
            image.make_room(4 * room)
            choose_other_path(image.arena, flow, room)


def _link(owner: list[list[int]], change: LinkChange) -> int:
    for ends in (change.ends, change.ends[::-1]):
        if list(ends) in owner:
            return owner.index(list(ends))
    rule = "must name the two ends of a link"
    raise ConfigError("link_changes", rule, got=f"{change.ends[0]} and {change.ends[1]}")
