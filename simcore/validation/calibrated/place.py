"""The place of a run among others of its site: its class, model, machine and layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from simcore.config import Run
from simcore.validation.bands.classes import levels_of
from simcore.validation.bands.shipped import Likeness
from simcore.validation.bands.spread import Floats

SHARDED = 2.0
"""Doublings that lie between layouts with and without sharded weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """Place of a run.

    Attributes:
        levels: Kind of model, number format, accelerator, layout.
        model: Doublings of parameters and NPUs.
        layout: Doublings of tp, pp, cp, ep and micro-batch, and ``SHARDED`` or 0.
    """

    levels: tuple[str, ...]
    model: tuple[float, float]
    layout: tuple[float, ...]

    @classmethod
    def of(cls, run: Run) -> "RunPlace":
        """The place of a run that trains something."""
        plan = run.plan
        degrees = (plan.tp, plan.pp, plan.cp, plan.ep, plan.micro_batch)
        sharded = SHARDED if plan.zero_stage == 3 else 0.0
        return cls(
            levels=levels_of(run),
            model=(log2(run.workload.model.parameters), log2(run.platform.npus)),
            layout=(*map(log2, degrees), sharded),
        )


def shared(one: Sequence[RunPlace], other: Sequence[RunPlace], likeness: Likeness) -> Floats:
    """(len(one), len(other)): covariance of scaled residuals of different runs of one site.

    A sum of parts that all runs of the site share, that those of one accelerator, format and kind
    share, and of two that fade with the doublings between models and between layouts. Each is a
    covariance by itself (exponential of a distance), so their sum is one.

    Source: C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006, section 4.2.
    """
    if not one or not other:
        return np.zeros((len(one), len(other)))
    kinds = _same_kind(one, other)
    models = np.exp(
        -_apart([p.model for p in one], [p.model for p in other]) / likeness.model_reach
    )
    layouts = np.exp(
        -_apart([p.layout for p in one], [p.layout for p in other]) / likeness.layout_reach
    )
    inside = likeness.kind + models * (likeness.model + likeness.layout * layouts)
    return np.asarray(likeness.variance * (likeness.site + kinds * inside), np.float64)


def _same_kind(one: Sequence[RunPlace], other: Sequence[RunPlace]) -> Floats:
    kinds: dict[tuple[str, ...], int] = {}
    numbers = [
        np.array([kinds.setdefault(place.levels[:3], len(kinds)) for place in places])
        for places in (one, other)
    ]
    return np.asarray(numbers[0][:, None] == numbers[1][None, :], np.float64)


def _apart(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Floats:
    """Doublings between all pairs, added up over the coordinates."""
    first, second = np.array(one, np.float64), np.array(other, np.float64)
    return np.asarray(np.abs(first[:, None, :] - second[None, :, :]).sum(axis=2), np.float64)
