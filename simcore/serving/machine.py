"""The part of a machine that a pool of NPUs has to itself."""

from fractions import Fraction

from simcore.errors import InfeasibleError
from simcore.machine import Dimension, Platform


def part_of(platform: Platform, first: int, npus: int, what: str) -> Platform:
    """*npus* NPUs of *platform* from id *first* on, as a machine of their own.

    They are whole units of the inner dimensions and lie side by side in the next one, of which
    they may be a part: switches, full connections and meshes can be cut, rings cannot.

    Args:
        platform: The whole machine.
        first: Id of the first NPU.
        npus: NPUs of the part, at least 2.
        what: Name of the part for messages.

    Raises:
        InfeasibleError: They are no such part.
    """
    if npus < 2:
        raise InfeasibleError("pools_tile_machine", f"{what} has {npus} NPU and needs at least 2")
    dimensions: list[Dimension] = []
    left, at = npus, first
    for dimension in platform.dimensions:
        if left == 1:
            break
        extent, start = min(left, dimension.npus), at % dimension.npus
        share: Fraction | None = Fraction(1)
        if extent < dimension.npus:
            share = dimension.shape.part_of_bandwidth(dimension.npus, extent)
            share = share if left == extent else None
        if share is None or left % extent != 0 or start + extent > dimension.npus:
            shape = " x ".join(str(each.npus) for each in platform.dimensions)
            reason = (
                f"{what} has {npus} NPUs from id {first} on, which are no whole part of the "
                f"dimensions {shape}"
            )
            raise InfeasibleError("pools_tile_machine", reason)
        bandwidth = dimension.bandwidth_bytes_per_s * float(share)
        part = {"npus": extent, "bandwidth_bytes_per_s": bandwidth}
        dimensions.append(dimension.model_copy(update=part))
        left, at = left // extent, at // dimension.npus
    return platform.model_copy(update={"dimensions": tuple(dimensions)})
