"""Derated links: those of which a part alone can be used."""

from simcore import Platform


def usable(platform: Platform, share: float) -> Platform:
    """*platform* with the bandwidths that can be used: that *share* of each link's."""
    if share == 1.0:
        return platform
    dimensions = tuple(
        one.model_copy(update={"bandwidth_bytes_per_s": share * one.bandwidth_bytes_per_s})
        for one in platform.dimensions
    )
    return platform.model_copy(update={"dimensions": dimensions})
