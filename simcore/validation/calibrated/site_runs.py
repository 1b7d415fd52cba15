"""Runs of published sources, each of which stands for a site."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.validation.bands.spread import Constants, Floats, Spread, Spreads, widening
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


def sites_of(
    runs: Sequence[SourceRun], spreads: Spreads, constants: Constants
) -> dict[str, SiteRuns]:
    """Places and scaled residuals of the runs of each source, from the spreads of other sources."""
    found: dict[str, list[SourceRun]] = defaultdict(list)
    for run in runs:
        found[run.source].append(run)
    return {
        source: (
            [run.place for run in own],
            [
                run.residual / width
                for run, width in zip(
                    own, left_out_widths(source, own, spreads, constants), strict=True
                )
            ],
        )
        for source, own in found.items()
    }


def left_out_widths(
    source: str, runs: Sequence[SourceRun], spreads: Spreads, constants: Constants
) -> Floats:
    """Spreads at the places of runs, from the rows of all sources but one."""
    known = source in spreads.sources
    kept = spreads.source != spreads.sources.index(source) if known else None
    widths: list[float] = []
    at: dict[tuple[str, ...], Spread] = {}
    for run in runs:
        levels = run.place.levels
        if levels not in at:
            at[levels] = spreads.at(levels, constants, kept)
        factor = widening(
            at[levels].lack, spreads.doublings(at[levels], run.place.model), constants
        )
        widths.append(at[levels].size * factor)
    return np.array(widths, np.float64)
