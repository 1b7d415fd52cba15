"""Links as an accelerator has them: what the word ``native`` means in a network dimension."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from simcore.errors import ConfigError
from simcore.files.once import read_once
from simcore.machine.dimension import Dimension
from simcore.machine.fabric import Fabric
from simcore.machine.npu import Npu
from simcore.units import plain_sum

NATIVE = "native"
"""The word."""

_CARDS, _SWITCH = "nic", "switch"
"""Fabric and shape of what leaves a scale-up domain."""

_fabric = read_once(Fabric.load)


def is_native(dimension: object) -> bool:
    """True of the table of a dimension that takes something from the accelerator."""
    return isinstance(dimension, Mapping) and NATIVE in dimension.values()


def with_native_links(dimensions: Sequence[Any], npu: Npu) -> list[Dimension]:
    """*dimensions* with the accelerator's own values wherever the table of one says ``native``.

    As long as the dimensions join no more NPUs than the accelerator's scale-up domain, these are
    the shape, bandwidth and latency of its links there, and the part of the bandwidth that messages
    were measured to reach; else those of the cards that its servers are sold with, on a switch.
    Dimensions on the same side whose bandwidth is native share it in equal parts, as the rings of a
    torus do; one that shares the ports of the dimension before has the bandwidth of that one.

    Raises:
        ConfigError: The accelerator's file does not tell what is asked.
    """
    inside = [joined <= npu.scale_up.npus for joined in accumulate(map(_npus, dimensions), mul)]
    sharing = [_has_part(*given) for given in enumerate(dimensions)]
    found: list[Dimension] = []
    for at, given in enumerate(dimensions):
        if isinstance(given, Dimension):
            found.append(given)
            continue
        place, table = f"dimensions[{at}]", dict(given)
        for key in [key for key, value in given.items() if value == NATIVE]:
            told = _TOLD[key](npu, inside[at], _npus(given)) if key in _TOLD else None
            if told is None:
                raise _untold(f"{place}.{key}", npu, inside[at])
            table[key] = told
        if given.get("bandwidth") == NATIVE:
            parts = plain_sum(
                own and side == inside[at] for own, side in zip(sharing, inside, strict=True)
            )
            before = found[-1].bandwidth_bytes_per_s if found and not sharing[at] else None
            table["bandwidth"] = f"{before or table['bandwidth'] / parts!r} B/s"
        found.append(Dimension.from_file_data(table, at=place))
    return found


def _npus(dimension: Any) -> int:
    """NPUs that *dimension* joins; 1 where that is no number, which is told when it is checked."""
    table = dimension if isinstance(dimension, Mapping) else dimension.__dict__
    npus = table.get("npus")
    return npus if isinstance(npus, int) else 1


def _has_part(at: int, dimension: Any) -> bool:
    """True if the bandwidth of the dimension is native, and no other one's too."""
    if not is_native(dimension) or dimension.get("bandwidth") != NATIVE:
        return False
    return at == 0 or dimension.get("shares_ports") is not True


def _topology(npu: Npu, is_inside: bool, npus: int) -> str | None:
    return npu.scale_up.topology if is_inside else _SWITCH


def _bandwidth(npu: Npu, is_inside: bool, npus: int) -> float | None:
    if is_inside:
        return npu.scale_up.bandwidth_bytes_per_s
    return npu.scale_out.installed_bytes_per_s if npu.scale_out else None


def _efficiency(npu: Npu, is_inside: bool, npus: int) -> float | None:
    fabric = _fabric_of(npu, is_inside)
    return fabric.efficiency(npus) if fabric else None


def _latency(npu: Npu, is_inside: bool, npus: int) -> str | None:
    fabric = _fabric_of(npu, is_inside)
    return f"{fabric.bulk.latency_s!r} s" if fabric else None


def _fabric_of(npu: Npu, is_inside: bool) -> Fabric | None:
    name = npu.scale_up.fabric if is_inside else _CARDS
    return _fabric(name) if name else None


_TOLD: Mapping[str, Callable[[Npu, bool, int], object]] = {
    "topology": _topology,
    "bandwidth": _bandwidth,
    "efficiency": _efficiency,
    "latency": _latency,
}
NATIVE_KEYS = tuple(_TOLD)
"""Keys of a dimension that may hold the word."""


def _untold(place: str, npu: Npu, is_inside: bool) -> ConfigError:
    table = "scale_up" if is_inside else "scale_out"
    rule = f"is not told by {table} of {npu.name}: write the value, or add it there"
    return ConfigError(place, rule, got=NATIVE)
