"""A network as a graph: NPUs, switches and the links between them, as flat arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.graphs.circuits import Circuits

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_NODES = 1 << 24
"""Nodes of a graph: far more than are built, few enough for arrays over all of them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkGraph:
    """NPUs 0 to ``npus`` - 1, switches after them, and links.

    A *link* is what messages share: one direction of a full-duplex cable, or a half-duplex cable,
    which carries both directions in one capacity. A *cable* is what is bought: both directions.

    Attributes:
        npus: NPUs.
        nodes: NPUs and switches.
        tier_of: (nodes - npus,) which of ``tiers`` each switch belongs to.
        tiers: Names of the tiers of switches.
        link_from: (L,) node at which each link begins.
        link_to: (L,) node at which it ends.
        bytes_per_s: (L,) capacity of each link.
        latency_ns: (L,) of each link.
        half: (L,) true where a link may be passed in either direction.
        cable_of: (L,) cable that each link is a direction of.
        kind_of: (C,) which of ``kinds`` each cable is.
        kinds: Names of the kinds of cables.
        npus_forward: Whether messages pass through NPUs on their way to others.
        dims: Sizes of the dimensions in which NPU ``x0 + d0 x1 + ...`` has coordinates; empty
            where there are none.
        wraps: Whether the shorter way in a dimension may lead around.
        circuits: Links that are up by turns; None: all links are up at once.
    """

    npus: int
    nodes: int
    tier_of: Ints
    tiers: tuple[str, ...]
    link_from: Ints
    link_to: Ints
    bytes_per_s: Floats
    latency_ns: Floats
    half: NDArray[np.bool_]
    cable_of: Ints
    kind_of: Ints
    kinds: tuple[str, ...]
    npus_forward: bool = True
    dims: tuple[int, ...] = ()
    wraps: bool = False
    circuits: "Circuits | None" = None
    _kept: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def cables(self) -> int:
        """Cables."""
        return len(self.kind_of)

    @property
    def links(self) -> int:
        """Links."""
        return len(self.link_from)

    def cable_ends(self) -> tuple[Ints, Ints]:
        """Both ends (C,) and (C,) of each cable."""
        _, first = np.unique(self.cable_of, return_index=True)
        return self.link_from[first], self.link_to[first]

    def forwarding(self, npus_forward: bool) -> "NetworkGraph":
        """This graph, but its NPUs do or do not pass on messages of others."""
        return replace(self, npus_forward=npus_forward, _kept={})

    def with_links(self, own: Ints) -> "NetworkGraph":
        """Graph of the same nodes with the links *own* alone, numbered anew, all up at once."""
        return replace(
            self,
            link_from=self.link_from[own],
            link_to=self.link_to[own],
            bytes_per_s=self.bytes_per_s[own],
            latency_ns=self.latency_ns[own],
            half=self.half[own],
            cable_of=self.cable_of[own],
            circuits=None,
            _kept={},
        )

    def outward(self) -> tuple[Ints, Ints, Ints]:
        """Links by the node that they leave: (nodes + 1,) offsets, links, and next nodes.

        Links of a node ascend. A half-duplex link leaves both of its ends.
        """
        found = self._kept.get("outward")
        if found is None:
            both = np.flatnonzero(self.half)
            ids = np.concatenate([np.arange(self.links), both])
            at = np.concatenate([self.link_from, self.link_to[both]])
            to = np.concatenate([self.link_to, self.link_from[both]])
            order = np.lexsort((ids, at))
            offsets = np.searchsorted(at[order], np.arange(self.nodes + 1))
            found = offsets.astype(np.int64), ids[order], to[order]
            self._kept["outward"] = found
        return found  # type: ignore[return-value]

    @property
    def port_bytes_per_s(self) -> float:
        """Bandwidth out of the NPU that has most of it, over all of its ports."""
        offsets, links, _ = self.outward()
        own = slice(0, int(offsets[self.npus]))  # NPUs are the first nodes
        begins = np.repeat(np.arange(self.npus), np.diff(offsets[: self.npus + 1]))
        return float(np.bincount(begins, self.bytes_per_s[links[own]], self.npus).max())

    def name(self, node: int) -> str:
        """Name of a node for people, such as ``NPU 3`` or ``spine 20``."""
        if node < self.npus:
            return f"NPU {node}"
        return f"{self.tiers[self.tier_of[node - self.npus]]} {node}"


class Wiring:
    """A graph while it is wired: tiers of switches and cables, in the order of their creation.

    Args:
        npus: NPUs, which are nodes 0 to *npus* - 1.

    Raises:
        ConfigError: There are too many of them.
    """

    def __init__(self, npus: int) -> None:
        self.npus = self.nodes = npus
        self._tiers: list[str] = []
        self._tier_of: list[Ints] = []
        self._kinds: list[str] = []
        self._kind_of: list[Ints] = []
        self._ends: list[tuple[Ints, Ints]] = []
        self._refuse_too_many()

    def switches(self, tier: str, count: int) -> int:
        """Add *count* switches of a tier; the first one's node."""
        first = self.nodes
        self.nodes += count
        self._refuse_too_many()
        if count:
            self._tier_of.append(np.full(count, _place(self._tiers, tier), np.int64))
        return first

    def cable(self, kind: str, a: int, b: int) -> None:
        """Add one cable of a kind between two nodes."""
        self.cables(kind, [a], [b])

    def cables(self, kind: str, a: Sequence[int] | Ints, b: Sequence[int] | Ints) -> None:
        """Add cables of a kind between nodes *a* and *b*, in order."""
        ends = np.asarray(a, np.int64).ravel(), np.asarray(b, np.int64).ravel()
        if len(ends[0]):
            self._ends.append(ends)
            self._kind_of.append(np.full(len(ends[0]), _place(self._kinds, kind), np.int64))

    def copy_of(self, other: "Wiring", npus: Ints, failed: Sequence[int] = ()) -> None:
        """Add the switches and cables of another wiring, less those that have *failed*.

        Args:
            other: Whose NPUs and switches these are.
            npus: (N,) the NPUs that stand in the place of its own.
            failed: Numbers of its cables that are not there.

        Raises:
            ConfigError: As ``graph``.
        """
        first = self.nodes
        for tier in other._tier_of:
            self.switches(other._tiers[tier[0]], len(tier))
        place = np.concatenate([npus, np.arange(first, self.nodes)])
        a, b, kind_of = other._stacked(failed)
        parts = np.flatnonzero(np.diff(kind_of)) + 1
        for own in np.split(np.arange(len(a)), parts):
            if len(own):
                self.cables(other._kinds[kind_of[own[0]]], place[a[own]], place[b[own]])

    def graph(self, failed: Sequence[int] = ()) -> NetworkGraph:
        """The graph of full-duplex cables, less those whose numbers have *failed*.

        Links 2 c and 2 c + 1 are cable c there and back. Capacities are 1 byte/s and latencies 0
        until ``set_links`` says otherwise.

        Raises:
            ConfigError: There is no cable of such a number, or a number stands twice.
        """
        a, b, kind_of = self._stacked(failed)
        cables = len(a)
        used = sorted(set(kind_of.tolist()))
        tier_of = np.concatenate(self._tier_of) if self._tier_of else np.zeros(0, np.int64)
        return NetworkGraph(
            npus=self.npus,
            nodes=self.nodes,
            tier_of=tier_of,
            tiers=tuple(self._tiers),
            link_from=np.stack([a, b], axis=1).ravel(),
            link_to=np.stack([b, a], axis=1).ravel(),
            bytes_per_s=np.ones(2 * cables),
            latency_ns=np.zeros(2 * cables),
            half=np.zeros(2 * cables, np.bool_),
            cable_of=np.repeat(np.arange(cables), 2),
            kind_of=np.searchsorted(used, kind_of).astype(np.int64),
            kinds=tuple(self._kinds[kind] for kind in used),
        )

    def _stacked(self, failed: Sequence[int]) -> tuple[Ints, Ints, Ints]:
        none = np.zeros(0, np.int64)
        a = np.concatenate([none, *(ends[0] for ends in self._ends)])
        b = np.concatenate([none, *(ends[1] for ends in self._ends)])
        kind_of = np.concatenate([none, *self._kind_of])
        for cable in failed:
            if not 0 <= cable < len(a):
                rule = f"must be numbers of cables, 0 to {len(a) - 1}"
                raise ConfigError("failed", rule, got=cable)
        if len(set(failed)) < len(failed):
            raise ConfigError("failed", "must name each cable once", got=list(failed))
        left = np.delete(np.arange(len(a)), list(failed))
        return a[left], b[left], kind_of[left]

    def _refuse_too_many(self) -> None:
        if self.nodes > MOST_NODES:
            rule = f"must have at most {MOST_NODES:,} NPUs and switches"
            raise ConfigError("", f"a network {rule}", got=self.nodes)


def _place(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)
