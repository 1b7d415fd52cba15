"""Runs of published sources, each of which stands for a site."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from simcore.validation.bands.fit import left_out
from simcore.validation.bands.spread import Floats, Spreads
from simcore.validation.bands.width import Widths
from simcore.validation.calibrated.fit import SiteRuns
from simcore.validation.calibrated.place import RunPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """A measured run of a source.

    Attributes:
        source: Publication.
        place: Of the run.
        residual: ln(measured / predicted).
    """

    source: str
    place: RunPlace
    residual: float


def sites_of(runs: Sequence[SourceRun], widths: Mapping[str, Widths]) -> dict[str, SiteRuns]:
    """Places and scaled residuals of the runs of each source; its *widths* are from all others."""
    found: dict[str, list[SourceRun]] = defaultdict(list)
    for run in runs:
        found[run.source].append(run)
    return {
        source: (
            [run.place for run in own],
            (np.array([run.residual for run in own]) / widths_at(own, widths[source])).tolist(),
        )
        for source, own in found.items()
    }


def left_out_widths(spreads: Spreads, source: str) -> Widths:
    """Widths of bands from what is known without a source."""
    constants, kept = left_out(spreads, source)
    return Widths(spreads, constants, kept)


def widths_at(runs: Sequence[SourceRun], widths: Widths) -> Floats:
    """Reach of bands at the places of runs."""
    at = cache(widths.at)
    return np.array([at(run.place.levels, run.place.model) for run in runs], np.float64)
