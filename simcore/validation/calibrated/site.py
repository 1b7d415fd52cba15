"""Predictions for a site, from its own runs and those of others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

from simcore.config import Run
from simcore.validation.bands import prediction_band
from simcore.validation.bands.band import Band
from simcore.validation.bands.classes import SERVING, TRAINING
from simcore.validation.bands.serving import decode_evidence, is_decode
from simcore.validation.bands.shipped import Judged, Likeness, shipped, shipped_constants
from simcore.validation.bands.training import training_evidence
from simcore.validation.calibrated.file import Calibration, SiteLoadTest, SiteRun
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


class SitePart:
    """Runs of one kind, ready to be asked.

    Attributes:
        runs: Of training, or load tests.
        judged: Residuals of the runs of others.
        widths: How far bands reach at the place of each run.
        posterior: What the runs tell.
    """

    def __init__(
        self, runs: Sequence[SiteRun | SiteLoadTest], judged: Judged, likeness: Likeness
    ) -> None:
        self.runs, self.judged = tuple(runs), judged
        self.widths = [self.width(run.place) for run in runs]
        scaled = [run.residual / width for run, width in zip(runs, self.widths, strict=True)]
        self.posterior = Posterior([run.place for run in runs], scaled, likeness)

    def width(self, place: RunPlace) -> float:
        """Reach of bands at a place, from the runs of others."""
        return self.judged.width(place.levels, place.model)

    def moved(self, place: RunPlace, width: float) -> Moved:
        """Effect on a prediction at *place* whose band reaches *width* to each side."""
        means, left = self.posterior.at([place])
        shift = min(max(width * float(means[0]), -MOST_SHIFT), MOST_SHIFT)
        return Moved(shift=shift, left=sqrt(float(left[0])))

    def errors_left(self) -> list[float]:
        """For each run, the error of its prediction moved by the others, as a fraction."""
        means = self.posterior.without_each()
        return [
            exp(min(max(float(mean) * width, -MOST_SHIFT), MOST_SHIFT) - run.residual) - 1
            for mean, width, run in zip(means, self.widths, self.runs, strict=True)
        ]


class Site:
    """A calibration, ready to be asked.

    Attributes:
        name: Of the site.
        training: Its training runs.
        load_tests: Its load tests.
    """

    def __init__(
        self,
        calibration: Calibration,
        judged: Judged | None = None,
        likeness: Likeness | None = None,
    ) -> None:
        """*judged*, *likeness*: of training runs, in place of the shipped ones."""
        constants = shipped_constants()
        self.name = calibration.name or "the site"
        self.training = SitePart(
            calibration.runs, judged or shipped(TRAINING), likeness or constants.site
        )
        self.load_tests = SitePart(calibration.load_tests, shipped(SERVING), constants.served_site)

    def band(self, run: Run) -> Band:
        """The band of *run*, its middle moved by the runs of its own kind, if there are any.

        Steps that read prompts are not moved: load tests tell the time per output token alone.
        """
        if isinstance(run.workload, TrainingWorkload) and self.training.runs:
            evidence = training_evidence(run, self.training.judged)
            part, words = self.training, "run"
        elif is_decode(run) and self.load_tests.runs:
            evidence = decode_evidence(run, self.load_tests.judged)
            part, words = self.load_tests, "load test"
        else:
            return self._unmoved(run)
        own, place = len(part.runs), RunPlace.of(run)
        moved = part.moved(place, evidence.width)
        told = f"moved by {own} {words}{'s' if own > 1 else ''} of {self.name}"
        if all(one.place.kinds != place.kinds for one in part.runs):
            told += f", none of them on {', '.join(reversed(place.kinds))}"
        return Band.around(
            width=evidence.width * moved.left,
            shift=moved.shift,
            trust=evidence.trust,
            reason=f"{evidence.reason}; {told}",
        )

    def _unmoved(self, run: Run) -> Band:
        """The band of others, which says what the site lacks."""
        band = prediction_band(run)
        lacks = "runs that train" if isinstance(run.workload, TrainingWorkload) else "load tests"
        if is_decode(run) or isinstance(run.workload, TrainingWorkload):
            return replace(band, reason=f"{band.reason}; not moved: {self.name} has no {lacks}")
        return band
