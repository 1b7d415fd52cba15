"""Times of transfers into and out of tiers of memory."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from simcore.engines.events.input import Ints
from simcore.engines.limits.counted_time import MAX_NS, SlowField, too_long
from simcore.errors import ConfigError
from simcore.machine import Platform
from simcore.workload.graph import Axis, GroupLayout, TransferOp, Way


def transfer_times_ns(
    transfers: Sequence[TransferOp], groups: Mapping[Axis, GroupLayout], platform: Platform
) -> Ints:
    """(T,) int64: time until all NPUs that share a port have moved their data.

    Raises:
        ConfigError: The platform has no tier of that name, or none that updates what it holds.
        InfeasibleError: One takes longer than is counted.
    """
    return np.array([_time_ns(transfer, groups, platform) for transfer in transfers], np.int64)


def check_transfers(transfers: Sequence[TransferOp], runs: Ints, time_ns: Ints) -> None:
    """Check that all transfers of a stage, one after the other, can be counted.

    Args:
        transfers: All T of them.
        runs: (S, T) int64, of each at each stage.
        time_ns: (T,) int64, of each.

    Raises:
        InfeasibleError: They cannot; names the tier to which most of the time is due.
    """
    spent = (runs.astype(np.float64) * time_ns).max(axis=0, initial=0)
    if spent.sum() < MAX_NS:
        return
    most = transfers[int(spent.argmax())]
    field = SlowField(f"platform.tiers.{most.tier}.bandwidth", "this", "larger")
    raise too_long(field, f"transfers through {most.category} take", spent.sum() * 1e-9)


def _time_ns(transfer: TransferOp, groups: Mapping[Axis, GroupLayout], platform: Platform) -> float:
    tier, place = platform.tier(transfer.tier), f"platform.tiers.{transfer.tier}"
    replicas = groups.get(Axis.DP) if transfer.merged else None
    distinct, npus, size = _distinct(replicas), platform.npus, transfer.size_bytes
    if transfer.way is Way.UPDATE:
        try:
            time_ns = tier.update_ns(size, npus, distinct)
        except ConfigError as error:
            raise error.under(place) from None
        field = SlowField.rate(f"{place}.update_bandwidth", tier.update_bytes_per_s or 0.0)
    else:
        time_ns = tier.transfer_ns(size, npus, distinct, write=transfer.way is Way.STORE)
        field = SlowField.rate(f"{place}.bandwidth", tier.bandwidth_bytes_per_s)
    if time_ns >= MAX_NS:
        raise too_long(field, f"one transfer, {transfer.name}, takes", time_ns * 1e-9)
    return time_ns


def _distinct(replicas: GroupLayout | None) -> Callable[[int], int]:
    """Count of different parts that so many NPUs with neighbouring ids have."""
    if replicas is None or replicas.size == 1:
        return lambda npus: npus
    stride, size = replicas.stride, replicas.size

    def count(npus: int) -> int:
        whole, rest = divmod(npus, stride * size)
        return whole * stride + min(rest, stride)

    return count


def moved_bytes(transfers: Sequence[TransferOp], runs: Ints) -> dict[str, int]:
    """Bytes that one NPU moves through each port in an iteration, by the port's name.

    Args:
        transfers: All T of them.
        runs: (S, T) int64, of each at each stage.

    Returns:
        Of each port those of the stage that moves most.
    """
    of_stage: dict[str, list[int]] = {}
    for item, transfer in enumerate(transfers):
        moved = of_stage.setdefault(transfer.category, [0] * runs.shape[0])
        for stage, times in enumerate(runs[:, item].tolist()):
            moved[stage] += times * transfer.size_bytes
    return {port: max(moved) for port, moved in sorted(of_stage.items())}
