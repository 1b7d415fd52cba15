"""Links of an instance of an engine: those of a node, and those between nodes."""

from simcore.machine import Dimension
from simcore.machine.fabric import Fabric
from simcore.validation.machine import SCALE_OUT, Accelerator, Machines

DIRECT = {"nvlink2": "nvlink3_direct"} | {f"nvlink{n}": f"nvlink{n}_direct" for n in (3, 4, 5)}
"""Fabrics that tell how engines use links; older ones are used as the next generation is."""

_EVERY_ONE = "fully_connected"
"""Links of one NPU to all others share its bandwidth: what a switch gives to direct transfers."""


def links_of(
    machines: Machines, accelerator: Accelerator, npus: int, message_bytes: float | None
) -> tuple[Dimension, ...]:
    """Dimensions that join *npus*, with the transfers that suit what they send.

    Args:
        machines: Files of fabrics.
        accelerator: The accelerator.
        npus: How many.
        message_bytes: Of their all-reduces; None: tokens are put where their experts are.
    """
    inner = max(n for n in range(1, accelerator.per_node + 1) if npus % n == 0)
    dimensions = []
    if inner > 1:
        up = machines.fabric(DIRECT.get(accelerator.fabric, accelerator.fabric))
        rate = accelerator.scale_up_bytes_per_s
        dimensions.append(_suited(up, inner, rate, message_bytes, own=npus == inner))
    if npus > inner:
        out, rate = machines.fabric(SCALE_OUT), accelerator.scale_out_bytes_per_s
        dimensions.append(out.dimension(_EVERY_ONE, npus // inner, rate))
    return tuple(dimensions)


def _suited(
    fabric: Fabric, npus: int, rate: float, message_bytes: float | None, *, own: bool
) -> Dimension:
    """Links as the fastest transfer uses them.

    Engines have *own* kernels for sums in the memories of one node; sums that leave it are those of
    the library of collectives on each dimension.

    Tokens that are put in the memory of others wait for none of them, as sums do: they start as
    fast as small messages and then fill the links as large ones do.
    """
    if message_bytes is None:
        latency_s = min(way.latency_s for way in fabric.protocols)
        puts = fabric.bulk.model_copy(update={"latency_s": latency_s})
        return fabric.dimension(_EVERY_ONE, npus, rate, puts)
    ways = [
        fabric.dimension(_EVERY_ONE, npus, rate, way)
        for way in (fabric.protocols if own else (fabric.bulk,))
    ]
    return min(ways, key=lambda way: _all_reduce_s(way, message_bytes))


def _all_reduce_s(links: Dimension, size_bytes: float) -> float:
    """Time of a sum of parts and a gathering of them, each one step over all links at once."""
    sent = 2 * (links.npus - 1) / links.npus * size_bytes
    return 2 * links.latency_s + sent / links.usable_bandwidth_bytes_per_s
