"""One collective alone on a machine, by one algorithm after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

from simcore.collectives import algorithm_named
from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.placement import Placement, place_group
from simcore.engines.collectives.scheduled import check_schedules
from simcore.errors import ConfigError
from simcore.flits.settings import FlitNetwork
from simcore.machine import Dimension, Platform
from simcore.machine.admitted import admitted_algorithms
from simcore.machine.system import System
from simcore.network import (
    BACKENDS,
    DEFAULT_BACKEND,
    ExternalNetwork,
    Flit,
    check_network,
    on_links,
)
from simcore.network.dimensions import engine_dimensions
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A collective on a machine that does nothing else.

    Attributes:
        collective: A key of the system layer, such as ``broadcast``.
        size_bytes: The full buffer, of a gather and an all-gather what one member has.
        npus: Members, the first NPUs; None: all.
        backend: Network backend.
        system: Other values of the system layer.
        routers: Of a network flit by flit.
    """

    collective: str
    size_bytes: int
    npus: int | None = None
    backend: str = DEFAULT_BACKEND
    system: Mapping[str, object] = field(default_factory=dict)
    routers: Mapping[str, object] = field(default_factory=dict)

    def placed(self, platform: Platform) -> Placement:
        """Place of the members.

        Raises:
            ConfigError: A value breaks a rule.
            InfeasibleError: So many NPUs are no rows of the dimensions.
        """
        if self.size_bytes < 1:
            raise ConfigError("--size", "must be 1 B or more", got=self.size_bytes)
        if self.backend not in BACKENDS:
            raise BACKENDS.unknown(self.backend, at="--backend")
        sizes = tuple(dimension.npus for dimension in platform.dimensions)
        members = self.npus or prod(sizes)
        if members > prod(sizes):
            raise ConfigError("--npus", f"must be at most {prod(sizes)}", got=members)
        check_network(BACKENDS[self.backend], engine_dimensions(platform.dimensions))
        return place_group("the collective", 1, members, sizes)

    def network(self, platform: Platform) -> ExternalNetwork | None:
        """A network with an event loop of its own; None: the backend has none.

        Raises:
            ConfigError: It cannot be made with these settings.
        """
        kind, dimensions = BACKENDS[self.backend], engine_dimensions(platform.dimensions)
        if issubclass(kind, Flit):
            return kind(dimensions, FlitNetwork.from_file_data(dict(self.routers), at="routers"))
        if self.routers:
            rule = "must set no routers without --backend flit"
            raise ConfigError("--set", rule, got=sorted(self.routers))
        return on_links(kind, dimensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """Times of a collective whose members begin together.

    Attributes:
        name: Its algorithms, with commas between those of dimensions.
        last_ns: End of the last member.
        first_ns: End of the first member.
        sent_bytes: That a member sends, mean over the members.
        notes: What the network tells of its messages.
    """

    name: str
    last_ns: int
    first_ns: int
    sent_bytes: float
    notes: tuple[str, ...] = ()


def times_alone(
    platform: Platform, asked: Asked, algorithms: Sequence[tuple[str, ...]] = ()
) -> list[Alone]:
    """Times of a collective on *platform* by each of *algorithms*, every message followed.

    Args:
        platform: The machine.
        asked: The collective.
        algorithms: One name, or one per dimension, of each; none: all that every dimension admits.

    Raises:
        ConfigError: A value breaks a rule, or another algorithm would run in the place of one.
        InfeasibleError: So many NPUs are no rows of the dimensions.
    """
    dimensions, placement = platform.dimensions, asked.placed(platform)
    every = _of_all(asked.collective, dimensions, placement)
    found, rate = list[Alone](), platform.npu.memory_bandwidth_bytes_per_s
    for names in algorithms or every:
        layer = System.from_file_data({**asked.system, asked.collective: list(names)}, at="system")
        kind = CollectiveKind[asked.collective.upper()]
        _check(layer, kind, dimensions, placement)
        ends, sent_bytes, notes = Subsystem(dimensions, layer, rate).run(
            kind, placement, asked.size_bytes, asked.backend, asked.network(platform)
        )
        one = Alone(
            name=",".join(names),
            last_ns=int(ends.max()),
            first_ns=int(ends.min()),
            sent_bytes=sent_bytes / placement.members,
            notes=notes,
        )
        found.append(one)
    return found


def _of_all(
    collective: str, dimensions: Sequence[Dimension], placement: Placement
) -> list[tuple[str, ...]]:
    """Algorithms that each dimension admits for the members along it, one name for all."""
    each = [
        admitted_algorithms(
            collective,
            dimensions[d].topology,
            placement.extent[d],
            network=dimensions[d].takes_schedules,
        )
        for d in placement.involved
    ]
    common = reduce(lambda one, other: tuple(name for name in one if name in other), each)
    return [(name,) for name in common]


def _check(
    system: System, kind: CollectiveKind, dimensions: Sequence[Dimension], placement: Placement
) -> None:
    """Refuse algorithms in whose place others would run."""
    check_schedules(system, dimensions)
    names = system.algorithms(kind, [dimension.topology for dimension in dimensions])
    for d in placement.involved:
        if not algorithm_named(names[d]).runs(kind, placement.extent[d]):
            rule = f"must do {kind.name.lower()} among {placement.extent[d]} NPUs"
            raise ConfigError("--algorithm", rule, got=names[d])
