"""Levers: one part of a machine a tenth better or worse, which tells what its time hangs on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from simcore import Platform, SimcoreError, unbuildable

LeverKind = Literal["compute", "memory", "bandwidth", "latency"]

STEP = 0.1
"""Part by which a lever is moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One part of a machine.

    Attributes:
        kind: What of it is moved.
        dimension: Network dimension that it belongs to; -1: the accelerator.
    """

    kind: LeverKind
    dimension: int = -1

    def __str__(self) -> str:
        if self.dimension < 0:
            return "compute rate" if self.kind == "compute" else "memory bandwidth"
        return f"{self.kind} of dimension {self.dimension}"

    def betters(self, factor: float) -> bool:
        """True if the part gets better by being multiplied by *factor*."""
        return (factor > 1) != (self.kind == "latency")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A design on a machine of which one part is moved.

    Attributes:
        lever: The part.
        factor: What it is multiplied by.
        metrics: Of the design there; without costs where no price list has such a machine.
        unpriced: Why there are no costs.
        assumed: What its price stands on, where nobody sells the moved part.
    """

    lever: Lever
    factor: float
    metrics: Mapping[str, float]
    unpriced: str = ""
    assumed: str = ""


def priced_move(
    lever: Lever,
    factor: float,
    platform: Platform,
    metrics: Mapping[str, float],
    costs: Callable[[], Mapping[str, float]],
) -> Moved:
    """A design on *platform*, of which *lever* was moved, with what its *costs* stand on.

    Args:
        lever: The part that was moved.
        factor: What it was multiplied by.
        platform: The machine after that.
        metrics: Of the design there, without costs.
        costs: Prices the machine; raises ``SimcoreError`` where the price list has none for it.
    """
    try:
        priced = costs()
    except SimcoreError as error:
        return Moved(lever=lever, factor=factor, metrics=metrics, unpriced=str(error))
    assumed = "at the price of the part that is sold"
    if lever.kind == "bandwidth":  # the one property by which a price list tells parts apart
        assumed = "of custom parts" if unbuildable(platform) else ""
    every = {**metrics, **priced}
    return Moved(lever=lever, factor=factor, metrics=every, assumed=assumed if priced else "")


def moved_platforms(platform: Platform) -> Iterator[tuple[Lever, float, Platform]]:
    """*platform* with one part a tenth better, then a tenth worse, part after part.

    A latency gets better by getting smaller; one of 0 is left out.
    """
    levers = [Lever(kind="compute"), Lever(kind="memory")]
    for at, dimension in enumerate(platform.dimensions):
        if dimension.level == 0:  # a network is made faster as a whole
            levers.append(Lever(kind="bandwidth", dimension=at))
        if dimension.latency_s > 0 and dimension.network is None:
            levers.append(Lever(kind="latency", dimension=at))
    for lever in levers:
        better = 1 - STEP if lever.kind == "latency" else 1 + STEP
        for factor in (better, 2 - better):
            yield lever, factor, _moved(platform, lever, factor)


def _moved(platform: Platform, lever: Lever, factor: float) -> Platform:
    npu = platform.npu
    if lever.kind == "compute":
        peak = {form: rate * factor for form, rate in npu.peak_flop_per_s.items()}
        return platform.model_copy(update={"npu": npu.model_copy(update={"peak_flop_per_s": peak})})
    if lever.kind == "memory":
        rate = npu.memory_bandwidth_bytes_per_s * factor
        faster = npu.model_copy(update={"memory_bandwidth_bytes_per_s": rate})
        return platform.model_copy(update={"npu": faster})
    if lever.kind == "bandwidth":
        return platform.with_bandwidth(lever.dimension, factor)
    dimensions = list(platform.dimensions)
    own = dimensions[lever.dimension]
    slower = own.model_copy(update={"latency_s": own.latency_s * factor})
    dimensions[lever.dimension] = slower
    return platform.model_copy(update={"dimensions": type(platform.dimensions)(dimensions)})
