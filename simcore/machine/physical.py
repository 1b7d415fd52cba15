"""Limits of what is built: NPUs of a scale-up domain, bandwidth and ports of an accelerator."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, prod

from simcore.errors import InfeasibleError
from simcore.machine.dimension import Dimension
from simcore.machine.platform import Platform
from simcore.units import plain_sum

_GB = 1e9
_SLACK = 1 + 1e-9
PHYSICAL = "physical"
"""Name of the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkUse:
    """Part of a platform's network that one NPU has ports for, inside or outside its domain.

    Attributes:
        first: Position of its first dimension.
        bandwidth_bytes_per_s: Of one NPU, one direction.
        ports: Of one NPU.
    """

    first: int
    bandwidth_bytes_per_s: float
    ports: int


def scale_up_dimensions(platform: Platform) -> int:
    """Number of dimensions that are scale-up.

    The first is, unless it joins more than the accelerator's domain at no more than what network
    cards carry; and so is each next one that still lies inside the domain. Levels of a network that
    is a graph are only as far as their cables join no others: the ports of an NPU at a leaf switch
    that leads on to spines are those of a card, however few NPUs the leaf joins.
    """
    native, joined, inner = platform.npu.scale_up, 1, 0
    for dimension in platform.dimensions:
        joined *= dimension.npus
        if joined > native.npus and (inner or _is_carded(platform, dimension)):
            break
        inner += 1
    while inner and not _is_closed(platform.dimensions[:inner]):
        inner -= 1
    return inner


def _is_closed(inner: Sequence[Dimension]) -> bool:
    """True unless the last dimension is a level whose cables lead to NPUs beyond it."""
    last = inner[-1]
    if last.network is None:
        return True
    from simcore.flows.kept import kept_levels  # which few runs need

    own = inner[len(inner) - 1 - last.level :]
    closed = last.network.parts().closed_kinds(prod(one.npus for one in own))
    return all(level.cables <= closed for level in kept_levels(last.network)[: len(own)])


def unbuildable(platform: Platform) -> InfeasibleError | None:
    """Reason why *platform* cannot be built of accelerators as they are sold; None: it can.

    All that joins accelerators without a domain leaves them, and none is judged by ports that
    nobody looked up.
    """
    npu, inner = platform.npu, 0
    if npu.scale_up.npus > 1:
        inner = scale_up_dimensions(platform)
        joined = 1
        for dimension in platform.dimensions[:inner]:
            joined *= dimension.npus
        if joined > npu.scale_up.npus:
            return _beyond(
                f"dimension 0 joins {joined} NPUs at {_rate(platform.dimensions[0])}, and a "
                f"scale-up domain of {npu.name} has {npu.scale_up.npus}"
            )
        most, ports = npu.scale_up.bandwidth_bytes_per_s, npu.scale_up.ports
        use = network_use(platform, range(inner), most / ports if ports else inf)
        if error := _over(use, most, ports, f"the links of {npu.name}"):
            return error
    if npu.scale_out is not None:
        use = network_use(platform, range(inner, len(platform.dimensions)), inf)
        most, where = npu.scale_out.bandwidth_bytes_per_s, f"what leaves the domain of {npu.name}"
        return _over(use, most, npu.scale_out.ports, where)
    return None


def network_use(
    platform: Platform, positions: Sequence[int], port_bytes_per_s: float
) -> NetworkUse:
    """Bandwidth and ports of one NPU in the dimensions at *positions*.

    A link takes as many whole ports of *port_bytes_per_s* as carry it.
    """
    own = [platform.dimensions[at] for at in positions if not platform.dimensions[at].shares_ports]
    return NetworkUse(
        first=positions[0] if positions else 0,
        bandwidth_bytes_per_s=plain_sum(dimension.bandwidth_bytes_per_s for dimension in own),
        ports=sum(_ports(dimension, port_bytes_per_s) for dimension in own),
    )


def _ports(dimension: Dimension, port_bytes_per_s: float) -> int:
    """Ports of one NPU in *dimension*."""
    links = 1 if dimension.shape.has_switches else dimension.links_per_npu
    link_bytes_per_s = dimension.bandwidth_bytes_per_s / links
    return links * max(1, ceil(link_bytes_per_s / port_bytes_per_s / _SLACK))


def _is_carded(platform: Platform, dimension: Dimension) -> bool:
    """True if network cards carry *dimension*."""
    out = platform.npu.scale_out
    return out is not None and dimension.bandwidth_bytes_per_s <= out.bandwidth_bytes_per_s * _SLACK


def _over(
    use: NetworkUse, most_bytes_per_s: float, ports: int | None, where: str
) -> InfeasibleError | None:
    """Error for more bandwidth or more ports than there are."""
    if use.bandwidth_bytes_per_s > most_bytes_per_s * _SLACK:
        asked, most = use.bandwidth_bytes_per_s / _GB, most_bytes_per_s / _GB
        return _beyond(
            f"dimensions from {use.first} on ask {asked:g} GB/s per NPU of {where}: "
            f"{most:g} GB/s at most"
        )
    if ports is not None and use.ports > ports:
        return _beyond(
            f"dimensions from {use.first} on take {use.ports} ports per NPU of {where}: "
            f"{ports} at most"
        )
    return None


def _rate(dimension: Dimension) -> str:
    return f"{dimension.bandwidth_bytes_per_s / _GB:g} GB/s"


def _beyond(reason: str) -> InfeasibleError:
    advice = "lower it, or say 'physical: false' to price it as a custom part"
    return InfeasibleError(PHYSICAL, f"{reason}; {advice}")
