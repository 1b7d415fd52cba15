"""Place of a parallel group on the machine: its members along each network dimension."""

from dataclasses import dataclass
from functools import lru_cache

from simcore.errors import InfeasibleError


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A group as a sub-grid of the machine.

    Attributes:
        extent: Per dimension, how many members differ in its coordinate (1: it is not used).
        stride: Per dimension, the distance of neighbouring members in that coordinate.
    """

    extent: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def members(self) -> int:
        """Size of the group."""
        product = 1
        for extent in self.extent:
            product *= extent
        return product

    @property
    def involved(self) -> list[int]:
        """The dimensions that it uses."""
        return [dimension for dimension, extent in enumerate(self.extent) if extent > 1]


@lru_cache(maxsize=4096)
def place_group(what: str, stride: int, size: int, dimensions: tuple[int, ...]) -> Placement:
    """Lay the NPUs ``base + i * stride``, i < *size*, over the mixed-radix *dimensions*.

    Args:
        what: Name of the group for messages, such as ``tp``.
        stride: Distance of neighbouring members in NPU ids, at least 1.
        size: Members, at least 1.
        dimensions: Sizes of the network dimensions, innermost first.

    Raises:
        InfeasibleError: The group is no sub-grid: it starts or ends inside a dimension in such a
            way that its members do not form equal rows.
    """
    extents, strides = [], []
    left, step, inner = size, stride, 1
    for npus in dimensions:
        extent, coordinate_stride = 1, 1
        if left > 1 and step < inner * npus:
            coordinate_stride, rest = divmod(step, inner)
            room, uneven = divmod(npus, coordinate_stride)
            extent = min(left, room)
            if rest or uneven or room % extent or left % extent:
                raise _misplaced(what, stride, size, dimensions)
            left //= extent
            step = inner * npus
        extents.append(extent)
        strides.append(coordinate_stride if extent > 1 else 1)
        inner *= npus
    if left > 1:
        raise _misplaced(what, stride, size, dimensions)
    return Placement(extent=tuple(extents), stride=tuple(strides))


def _misplaced(what: str, stride: int, size: int, dimensions: tuple[int, ...]) -> InfeasibleError:
    shape = " x ".join(map(str, dimensions))
    reason = f"{what} groups of {size} NPUs at stride {stride} do not tile the dimensions {shape}"
    return InfeasibleError("placement", reason)
