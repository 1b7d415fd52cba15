"""Phases that are synthesised for the network on which their members lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from simcore.collectives import SYNTHESISED
from simcore.errors import ConfigError
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind

_ONE_NETWORK = (
    "needs a machine that is one network (platform.network) where ranks are placed, or jobs share "
    "it"
)

if TYPE_CHECKING:  # the engine loads this file, which a run of traces waits for
    from simcore.engines.collectives.phases import Phase
    from simcore.graphs.network_table import NetworkFile
    from simcore.machine import Dimension
    from simcore.machine.system import System
    from simcore.synthesis.placed.carriage import Carriage


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Ranks that are not where their numbers say, on a machine that is one network.

    Attributes:
        network: The machine.
        npus: NPU of each rank.
    """

    network: "NetworkFile"
    npus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledPhase:
    """A phase of groups of a network, each of which has a schedule.

    Attributes:
        network: The network.
        kind: Of collective.
        size_bytes: Of the buffer with which the phase starts.
        members: Of each group.
        npus: NPUs of the network, or ranks on them.
        stride: Between neighbouring members, in the network's own numbers of NPUs, or in ranks.
        listed: The members of the only group, where they are given as a list.
        dimension: The network's innermost level among the machine's dimensions.
        below: NPUs of the machine in one step of the network's numbers.
        on: NPU of each rank; none: that of its number.
    """

    network: "NetworkFile"
    kind: CollectiveKind
    size_bytes: int
    members: int
    npus: int
    stride: int
    listed: tuple[int, ...] = ()
    dimension: int = 0
    below: int = 1
    on: tuple[int, ...] = ()

    def group_of(self, rank: int) -> tuple[int, int]:
        """Copy of the network that a rank of the machine is on, and first member of its group."""
        step, place = rank // self.below, rank % self.below
        copy, own = step // self.npus * self.below + place, step % self.npus
        if self.listed:
            return copy, self.listed[0]
        return copy, own - own // self.stride % self.members * self.stride

    def carriage(self, first: int) -> "Carriage":
        """The collective of the group whose first member is *first*."""
        from simcore.synthesis.placed.carriage import carriage

        own = self.listed or tuple(first + i * self.stride for i in range(self.members))
        if self.on:
            own = tuple(self.on[rank] for rank in own)
        return carriage(self.network, own, self.kind.name.lower(), self.size_bytes)

    def takes_ns(self) -> int:
        """Time until all groups of the network are done that start together, in whole ns."""
        return _takes_ns(self)


@lru_cache(maxsize=4096)
def _takes_ns(phase: ScheduledPhase) -> int:
    from simcore.engines.collectives.side_by_side import together_ns

    firsts = [0]
    if not phase.listed:
        ids = np.arange(phase.npus)
        firsts = ids[ids // phase.stride % phase.members == 0].tolist()
    found = together_ns(phase.network, [phase.carriage(first) for first in firsts])
    return max(1, int(np.ceil(found * (1 - 1e-12))))


Levels: TypeAlias = "Sequence[Dimension] | Sequence[NetworkDimension]"


def located(dimensions: Levels, where: Sequence[int]) -> Located:
    """Ranks on the NPUs *where* of a machine that is one network.

    Raises:
        ConfigError: It is not.
    """
    network = one_network(dimensions)
    if network is None:
        raise ConfigError("platform", _ONE_NETWORK, got=f"{len(dimensions)} dimensions")
    return Located(network=network, npus=tuple(int(npu) for npu in where))


def one_network(dimensions: Levels) -> "NetworkFile | None":
    """The network of which all *dimensions* are levels, once; None: there is none."""
    found = dimensions[0].network
    alike = all(level.network == found for level in dimensions)
    return found if alike and [one.level for one in dimensions].count(0) == 1 else None


def scheduled_phase(
    phase: "Phase",
    levels: Levels,
    size_bytes: int,
    stride: int,
    listed: tuple[int, ...] = (),
    on: Located | None = None,
) -> ScheduledPhase:
    """The scheduled form of a phase.

    Args:
        phase: The phase.
        levels: Dimensions of the machine.
        size_bytes: With which it starts.
        stride: Between its members, in NPUs of the machine.
        listed: Members, where they are given as a list: NPUs of the machine.
        on: Where ranks are; None: where their numbers say.

    Raises:
        ConfigError: Its dimension is no part of a network that is a graph.
    """
    if on is not None:
        return _on_network(phase, on, size_bytes, stride, listed)
    own = levels[phase.dimension]
    if own.network is None or own.network.circuits is not None:
        raise _no_network(phase.kind.name.lower(), own, phase.dimension)
    first = phase.dimension - own.level
    below = npus = 1
    for level in levels[:first]:
        below *= level.npus
    for level in levels[first:]:
        if level.network != own.network or (level.level == 0 and npus > 1):
            break
        npus *= level.npus
    return ScheduledPhase(
        network=own.network,
        kind=phase.kind,
        size_bytes=size_bytes,
        members=phase.members,
        npus=npus,
        stride=max(stride // below, 1),
        listed=tuple(npu // below for npu in listed),
        dimension=first,
        below=below,
    )


def _on_network(
    phase: "Phase", on: Located, size_bytes: int, stride: int, listed: tuple[int, ...]
) -> ScheduledPhase:
    return ScheduledPhase(
        network=on.network,
        kind=phase.kind,
        size_bytes=size_bytes,
        members=phase.members,
        npus=len(on.npus),
        stride=stride,
        listed=listed,
        on=on.npus,
    )


def check_schedules(system: "System", dimensions: Sequence["Dimension"]) -> None:
    """Refuse synthesised collectives in dimensions that are no part of a network with all links up.

    Raises:
        ConfigError: Names the first such dimension.
    """
    from simcore.machine.system import ALGORITHM_KEYS

    for key in ALGORITHM_KEYS:
        for place, name in enumerate(system.vector(CollectiveKind[key.upper()], len(dimensions))):
            if name == SYNTHESISED and not dimensions[place].takes_schedules:
                raise _no_network(key, dimensions[place], place)


def _no_network(key: str, own: "Dimension | NetworkDimension", place: int) -> ConfigError:
    if own.network is not None:
        rule = f"{SYNTHESISED} needs links that are all up at once: name another, or no circuits"
        return ConfigError(f"system.{key}", rule, got=f"circuits in dimension {place}")
    rule = (
        f"{SYNTHESISED} needs a dimension that is a network (platform.network, or network: in the "
        "list of dimensions); name an algorithm per dimension where others are not"
    )
    return ConfigError(
        f"system.{key}", rule, got=f"{own.topology} of {own.npus} NPUs in dimension {place}"
    )


def check_located(system: "System", levels: int, machine: Levels) -> None:
    """Refuse synthesised collectives of ranks that are placed on anything but one network.

    Args:
        system: The system layer.
        levels: Along which the ranks are laid.
        machine: Dimensions of the machine.

    Raises:
        ConfigError: Names the first such collective.
    """
    from simcore.machine.system import ALGORITHM_KEYS

    for key in ALGORITHM_KEYS:
        chosen = SYNTHESISED in system.vector(CollectiveKind[key.upper()], levels)
        if chosen and one_network(machine) is None:
            raise ConfigError(f"system.{key}", f"{SYNTHESISED} {_ONE_NETWORK}", got=SYNTHESISED)


def sentence(
    phase: "Phase", levels: Sequence["Dimension"], size_bytes: int, on: Located | None = None
) -> str:
    """Time of a scheduled phase against its proven bound; arguments as for ``taken_ns``."""
    found = _of_level(phase, levels, size_bytes, on)
    work, takes_ns = found.carriage(found.listed[0] if found.listed else 0), found.takes_ns()
    told = (
        f"{phase.kind.name.lower()} of {size_bytes:,} bytes among {phase.members} NPUs of "
        f"dimension {phase.dimension} is synthesised ({work.by}): {work.time_ns * 1e-3:,.1f} us, "
        f"of which the proven lower bound is {work.share:.1%}"
    )
    if takes_ns > 1.001 * work.time_ns:
        told += f"; {takes_ns * 1e-3:,.1f} us where all such groups run at once"
    return told


def taken_ns(
    phase: "Phase", levels: Sequence["Dimension"], size_bytes: int, on: Located | None = None
) -> int:
    """Time of a scheduled phase; *phase* has the stride of its dimension's coordinate."""
    return _of_level(phase, levels, size_bytes, on).takes_ns()


def _of_level(
    phase: "Phase", levels: Sequence["Dimension"], size_bytes: int, on: Located | None
) -> ScheduledPhase:
    stride = phase.stride
    for level in levels[: phase.dimension]:
        stride *= level.npus
    return scheduled_phase(phase, levels, size_bytes, stride, on=on)
