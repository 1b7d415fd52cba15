"""Phases that switches add up: what their limits add to the time of the links."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcore.collectives import IN_NETWORK, SYNTHESISED, InNetwork
from simcore.engines.collectives.phases import Phase
from simcore.errors import ConfigError, InfeasibleError
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, Precision

if TYPE_CHECKING:  # the engine loads this file, which a run of traces waits for
    from simcore.machine import Dimension, Platform
    from simcore.machine.system import System


def check_switches(
    system: "System", dimensions: Sequence["Dimension"], precision: Precision
) -> None:
    """Refuse all-reduces in switches that are not there, or that do not add up such numbers.

    Raises:
        ConfigError: They do not add up numbers of that format; names the first such dimension.
        InfeasibleError: There are none, or they add up nothing; likewise.
    """
    names = system.algorithms(CollectiveKind.ALL_REDUCE, [one.topology for one in dimensions])
    for d, (name, over) in enumerate(zip(names, dimensions, strict=True)):
        if name != IN_NETWORK:
            continue
        if not _has_switches(over):
            reason = f"dimension {d} ({over.topology}) has no switches that add up what comes in"
            raise InfeasibleError("switches_add_up", f"{reason}: name another algorithm there")
        own = over.in_network
        if own is not None and not own.reduces and "reduces" in own.model_fields_set:
            reason = f"switches of dimension {d} add up nothing (in_network.reduces: false)"
            raise InfeasibleError("switches_add_up", f"{reason}: name another algorithm there")
        formats = own.formats if own is not None else ()
        if formats and precision not in formats:
            rule = (
                f"switches of dimension {d} add up {', '.join(formats)}, not {precision}: name "
                "another algorithm there"
            )
            raise ConfigError(f"system.all_reduce[{d}]", rule, got=name)


def _has_switches(dimension: "Dimension") -> bool:
    """True if there are switches: of the dimension, or in the network that it is a level of."""
    network = dimension.network
    return dimension.shape.has_switches if network is None else bool(network.parts().switches)


def adding_up(
    platform: "Platform", system: "System", precision: Precision
) -> tuple["Platform", tuple[str, ...]]:
    """The machine as numbers of *precision* find it, and sentences on what it then does not do.

    Switches that do not add up such numbers only pass them on: synthesised schedules then have the
    NPUs add up.
    """
    told, whose = list[str](), set[int]()
    for kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER):
        names = system.vector(kind, len(platform.dimensions))
        for d, (name, over) in enumerate(zip(names, platform.dimensions, strict=True)):
            own = over.network.in_network if over.network is not None else None
            if name != SYNTHESISED or own is None or not own.reduces:
                continue
            if own.formats and precision not in own.formats:
                whose.add(d - over.level)
                told.append(
                    f"switches of dimension {d} add up {', '.join(own.formats)}, not {precision}: "
                    f"NPUs add up what a synthesised {kind.name.lower()} joins there"
                )
    if not told:
        return platform, ()
    dimensions = [
        _passing_on(over) if d - over.level in whose else over
        for d, over in enumerate(platform.dimensions)
    ]
    return platform.model_copy(update={"dimensions": tuple(dimensions)}), tuple(told)


def _passing_on(over: "Dimension") -> "Dimension":
    """A level of a network whose switches do not add up."""
    network = over.network
    assert network is not None
    own = network.in_network.model_copy(update={"reduces": False})
    changed = network.model_copy(update={"in_network": own, "_key": ""})
    return over.model_copy(update={"network": changed})


def switches_wait_ns(
    phase: Phase, levels: "Sequence[Dimension] | Sequence[NetworkDimension]", size_bytes: int
) -> int:
    """Time for which a member waits after its message, in whole ns: levels of switches, windows.

    Args:
        phase: The phase.
        levels: Dimensions of the machine.
        size_bytes: With which it starts.

    Source: R. Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016
    (trees, payload of an operation, operations under way).
    """
    if not isinstance(phase.algorithm, InNetwork):
        return 0
    over = levels[phase.dimension]
    if (own := over.in_network) is None:
        return 0
    if isinstance(over, NetworkDimension):
        rate, latency_ns = over.bytes_per_ns, over.latency_ns
    else:
        rate, latency_ns = over.link_bandwidth_bytes_per_s / 1e9, over.latency_s * 1e9
    link_ns = 2 * latency_ns + size_bytes / rate
    return int(max(0.0, own.time_ns(phase.members, size_bytes, rate, latency_ns) - link_ns))
