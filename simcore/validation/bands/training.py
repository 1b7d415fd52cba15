"""Bands of simulated training iterations."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log2

from simcore.config import Run
from simcore.network import DEFAULT_BACKEND
from simcore.validation.bands.band import Band, Trust
from simcore.validation.bands.classes import TRAINING, levels_of
from simcore.validation.bands.networks import Joint, joints_of
from simcore.validation.bands.shipped import Judged, shipped
from simcore.validation.bands.silicon import measured_twin
from simcore.validation.bands.spread import Spread
from simcore.workload import ParallelPlan

UNFITTED = 1.6
"""Factor of the width for accelerators without measured runs: errors of measured runs are so much
larger where the efficiencies were fitted without their source (10.3 to 16.4 %, mean of ten groups
of 20 rows or more, ``benchmarks/fit_compute.py``)."""
ASSUMED = 2.0
"""Factor of the width where nothing measured says anything: an assumption, and told as one."""
MANY_ROWS, MANY_SOURCES = 20, 2
"""Rows and sources from which a class counts as measured, not as of few runs."""

_UNMEASURED = (
    "schedule",
    "interleave_group",
    "cp_kind",
    "dispatch_group",
    "scatter_each",
    "recompute_parts",
    "updates",
)
"""Keys of plans that measured rows have no column for: all were predicted with the defaults."""
_USUAL = {
    key: ParallelPlan.model_fields[key].get_default(call_default_factory=True)
    for key in _UNMEASURED
}
_KEPT = 4096
"""Classes and places whose evidence is kept."""

Levels = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Measured runs that speak for a prediction.

    Attributes:
        spread: Of their class.
        width: How far the band reaches to each side, on the logarithm of the time.
        trust, reason: As of the band.
    """

    spread: Spread
    width: float
    trust: Trust
    reason: str

    @cached_property
    def band(self) -> Band:
        """The band without a calibration."""
        return Band.around(width=self.width, trust=self.trust, reason=self.reason)


def training_band(run: Run) -> Band:
    """Band of the iteration time of *run*, which trains something."""
    return training_evidence(run).band


def training_evidence(run: Run, judged: Judged | None = None) -> Evidence:
    """Evidence for the iteration time of *run* in a table, by default the shipped one."""
    judged = judged or shipped(TRAINING)
    levels, place = levels_of(run), (log2(run.workload.model.parameters), log2(run.platform.npus))
    twin = ""
    if levels[2] not in judged.known("npu"):
        twin = measured_twin(run.platform.npu, judged.known("npu"))
    lacks = _lacking(run, levels[0], judged) or _lacking_network(run, twin or levels[2], judged)
    return _evidence(judged, levels, place, lacks, twin)


@lru_cache(_KEPT)
def _evidence(
    judged: Judged, levels: Levels, place: tuple[float, float], lacks: str, twin: str
) -> Evidence:
    """Evidence at a class and a place; designs of a study share a few of them."""
    factor, reason = (ASSUMED, lacks) if lacks else (1.0, "")
    trust: Trust | None = "prior" if lacks else None
    kind, number_format, npu, layout = levels
    if not lacks and npu not in judged.known("npu"):
        reason = f"no measured run on {npu}"
        trust, factor = ("nearby", 1.0) if twin else ("prior", UNFITTED)
        if twin:
            levels, reason = (
                (kind, number_format, twin, layout),
                f"{reason}; {twin} has the same chip",
            )
    spread = judged.spread(levels)
    return Evidence(
        spread=spread,
        width=judged.width(levels, place) * factor,
        trust=trust or _trust(spread),
        reason=reason or _told(judged, spread, levels, place),
    )


def _lacking(run: Run, kind: str, judged: Judged) -> str:
    """Part of *run* that no measured run had, in words; empty: there is none."""
    if run.backend != DEFAULT_BACKEND:
        return f"measured runs were predicted with {DEFAULT_BACKEND}"
    if kind not in judged.known("kind"):
        return f"no measured run of a workload of this kind ({kind})"
    if choice := _never_measured(run.plan):
        return f"no measured run with {choice}"
    return ""


def _lacking_network(run: Run, npu: str, judged: Judged) -> str:
    """Part of the network that no run measured on *npu* had, in words; empty: there is none."""
    if judged.networks is None or npu not in judged.known("npu"):
        return ""
    return _lacks(judged, tuple(joints_of(run.platform)), npu)


@lru_cache(_KEPT)
def _lacks(judged: Judged, joints: tuple[Joint, ...], npu: str) -> str:
    """``Networks.lacking``: thousands of designs share a few hundred machines."""
    return "" if judged.networks is None else judged.networks.lacking_of(joints, npu)


def _never_measured(plan: ParallelPlan) -> str:
    """A choice of *plan* that rows of measured runs do not know."""
    for key, usual in _USUAL.items():
        value = getattr(plan, key)
        if value != usual:
            return f"plan.{key}: {getattr(value, 'kind', value)}"
    return ""


def _trust(spread: Spread) -> Trust:
    if spread.depth < TRAINING.levels.index("npu") + 1:
        return "nearby"
    many = spread.rows >= MANY_ROWS and spread.sources >= MANY_SOURCES
    return "measured" if many else "few runs"


def _told(
    judged: Judged, spread: Spread, levels: tuple[str, ...], place: tuple[float, float]
) -> str:
    kind, number_format, npu, layout = levels
    nearest = judged.nearest(spread, place)
    near = f"nearest: {nearest.model} on {nearest.npus}"
    if spread.depth < TRAINING.levels.index("npu") + 1:
        format_of = nearest.levels[1]
        return (
            f"measured runs on {npu} have other formats or models; {near} {nearest.levels[2]}, "
            f"{format_of}"
        )
    where = f"{npu}, {number_format}, {kind}"
    if spread.depth == len(levels):
        where += f", {layout}"
    sources = f"{spread.sources} source{'s' if spread.sources > 1 else ''}"
    runs = f"{spread.rows:,} run{'s' if spread.rows > 1 else ''}"
    return f"{runs} of {sources} on {where}; {near}"
