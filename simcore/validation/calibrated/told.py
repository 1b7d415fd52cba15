"""A calibration in words: what each run says, what has changed, and what to measure next."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean

import numpy as np

from simcore.validation.bands.classes import TRAINING
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.calibrated.runs import OwnLoadTest, OwnRun
from simcore.validation.calibrated.site import Moved, SitePart


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run of the site.

    Attributes:
        name: Its id.
        informs: The class that it says most about.
        error: Of the prediction, (predicted - measured) / measured.
        left: Of the prediction moved by the other runs alone.
    """

    name: str
    informs: str
    error: float
    left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLine:
    """Runs of one accelerator, number format and kind of model.

    Attributes:
        name: Of the class.
        runs: Runs of it.
        factor: Mean of the factors by which predictions of these runs' places are moved.
        band_left: Mean part of the band's width that is left there.
    """

    name: str
    runs: int
    factor: float
    band_left: float


def run_lines(site: SitePart) -> list[RunLine]:
    """One line per run."""
    return [
        RunLine(
            name=run.run,
            informs=class_name(run.place),
            error=exp(-run.residual) - 1,
            left=left,
        )
        for run, left in zip(site.runs, site.errors_left(), strict=True)
    ]


def class_lines(site: SitePart) -> list[ClassLine]:
    """One line per class, the one with most runs first."""
    found: dict[str, list[Moved]] = defaultdict(list)
    for run, width in zip(site.runs, site.widths, strict=True):
        found[class_name(run.place)].append(site.moved(run.place, width))
    lines = [
        ClassLine(
            name=name,
            runs=len(moved),
            factor=exp(fmean(one.shift for one in moved)),
            band_left=fmean(one.left for one in moved),
        )
        for name, moved in found.items()
    ]
    return sorted(lines, key=lambda line: (-line.runs, line.name))


def class_name(place: RunPlace) -> str:
    """Accelerator, number format, kind of model and the rest of a class."""
    if len(place.levels) == len(TRAINING.levels):
        kind, number_format, npu, layout = place.levels
        return f"{npu}, {number_format}, {kind}, {layout}"
    mode, kind, engine, npu, number_format, regime = place.levels
    return f"{npu}, {engine}, {number_format}, {kind}, {mode}, {regime}"


def next_run(
    site: SitePart, candidates: Sequence[OwnRun | OwnLoadTest]
) -> tuple[OwnRun | OwnLoadTest, float] | None:
    """The candidate that would tell most of all of them, and the spread that is left at it.

    None where there is no candidate.
    """
    if not candidates:
        return None
    places = [one.place for one in candidates]
    widths = np.array([site.width(place) for place in places])
    at = int(np.argmax(site.posterior.gains(places, widths)))
    return candidates[at], float(widths[at]) * site.moved(places[at], 1.0).left


def mean_errors(lines: Sequence[RunLine]) -> tuple[float, float]:
    """Mean sizes of the errors of a site's runs: as simulated, and moved by the other runs."""
    return fmean(abs(line.error) for line in lines), fmean(abs(line.left) for line in lines)
