"""Predictions for a site, from its own runs and those of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

from simcore.config import Run
from simcore.validation.bands import prediction_band
from simcore.validation.bands.band import Band
from simcore.validation.bands.classes import TRAINING
from simcore.validation.bands.shipped import Judged, Likeness, shipped, shipped_constants
from simcore.validation.bands.training import training_evidence
from simcore.validation.calibrated.file import Calibration, SiteRun
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.calibrated.posterior import Posterior
from simcore.workload import TrainingWorkload

MOST_SHIFT = log(2)
"""A site's runs move no prediction by more: beyond a factor of 2 something else is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Effect of a site's runs on a prediction.

    Attributes:
        shift: Of the logarithm of the time.
        left: Part of the band's width that is left.
    """

    shift: float
    left: float


class Site:
    """A calibration, ready to be asked."""

    def __init__(
        self,
        calibration: Calibration,
        judged: Judged | None = None,
        likeness: Likeness | None = None,
    ) -> None:
        self.calibration = calibration
        self._judged = judged or shipped(TRAINING)
        self.widths = [self.width(run.place) for run in calibration.runs]
        scaled = [
            run.residual / width for run, width in zip(calibration.runs, self.widths, strict=True)
        ]
        places = [run.place for run in calibration.runs]
        self.posterior = Posterior(places, scaled, likeness or shipped_constants().site)

    def width(self, place: RunPlace) -> float:
        """Spread of residuals at a place, from the runs of others."""
        return self._judged.width(self._judged.spread(place.levels), place.model)

    def moved(self, place: RunPlace, width: float) -> Moved:
        """Effect on a prediction at *place* whose residuals spread by *width*."""
        means, left = self.posterior.at([place])
        shift = min(max(width * float(means[0]), -MOST_SHIFT), MOST_SHIFT)
        return Moved(shift=shift, left=sqrt(float(left[0])))

    def band(self, run: Run) -> Band:
        """The band of *run*, its middle moved; inference is not moved."""
        if not isinstance(run.workload, TrainingWorkload):
            return prediction_band(run)
        evidence = training_evidence(run, self._judged)
        moved = self.moved(RunPlace.of(run), evidence.width)
        own = len(self.calibration.runs)
        words = f"{own} run{'s' if own > 1 else ''} of {self.calibration.name or 'the site'}"
        return Band.around(
            below=evidence.below * moved.left,
            above=evidence.above * moved.left,
            shift=moved.shift,
            trust=evidence.trust,
            reason=f"{evidence.reason}; moved by {words}",
        )


def error_left(site: Site) -> list[float]:
    """For each run of a site, the error of its prediction moved by the others, as a fraction."""
    from math import exp

    means = site.posterior.without_each()
    runs: Sequence[SiteRun] = site.calibration.runs
    return [
        exp(min(max(float(mean) * width, -MOST_SHIFT), MOST_SHIFT) - run.residual) - 1
        for mean, width, run in zip(means, site.widths, runs, strict=True)
    ]
