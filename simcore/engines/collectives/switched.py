"""Phases that switches add up: what their limits add to the time of the links."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcore.collectives import IN_NETWORK, InNetwork
from simcore.engines.collectives.phases import Phase
from simcore.errors import ConfigError, InfeasibleError
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, Precision

if TYPE_CHECKING:  # the engine loads this file, which a run of traces waits for
    from simcore.machine import Dimension
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
