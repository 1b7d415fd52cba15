"""The place of a run among others of its site: its class, model, machine and layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from simcore.config import Run
from simcore.validation.bands.classes import levels_of
from simcore.validation.bands.serving import (
    POOLS,
    decode_levels,
    is_decode,
    served_levels,
    served_size,
)
from simcore.validation.bands.shipped import Likeness
from simcore.validation.bands.spread import Floats
from simcore.validation.rows import MeasuredRow
from simcore.workload.kinds import InferenceWorkload

SHARDED = 2.0
"""Doublings that lie between layouts with and without sharded weights."""
APART = 2.0
"""Doublings that lie between load tests with one pool and with two, and between those of an engine
and of none in particular; between two engines lie twice as many."""
ENGINES = ("sglang", "trtllm", "vllm")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """Place of a run.

    Attributes:
        levels: Its class in the table of residuals: kind of model, number format, accelerator,
            layout; of a load test pools, kind, engine, accelerator, format, requests at once.
        kinds: Those of them that runs which err alike have in common.
        model: Doublings of parameters and NPUs.
        layout: Doublings of tp, pp, cp, ep and micro-batch, and ``SHARDED`` or 0; of a load test
            doublings of requests per NPU and of tokens per request, and ``APART`` or 0 for two
            pools and for each engine.
    """

    levels: tuple[str, ...]
    kinds: tuple[str, ...]
    model: tuple[float, float]
    layout: tuple[float, ...]

    @classmethod
    def of(cls, run: Run) -> "RunPlace":
        """The place of a run that trains something, or of a step that answers."""
        if is_decode(run):
            assert isinstance(run.workload, InferenceWorkload)
            return cls.of_load_test(
                levels=decode_levels(run),
                parameters=run.workload.model.parameters,
                npus=run.platform.npus,
                requests_per_npu=run.workload.global_batch / run.platform.npus,
                tokens=run.workload.sequence,
            )
        plan = run.plan
        degrees = (plan.tp, plan.pp, plan.cp, plan.ep, plan.micro_batch)
        sharded = SHARDED if plan.zero_stage == 3 else 0.0
        return cls(
            levels=levels_of(run),
            kinds=levels_of(run)[:3],
            model=(log2(run.workload.model.parameters), log2(run.platform.npus)),
            layout=(*map(log2, degrees), sharded),
        )

    @classmethod
    def of_row(cls, row: MeasuredRow) -> "RunPlace":
        """The place of a row of load tests.

        Raises:
            SimcoreError: No shipped model has its shape, or a cell holds no number.
        """
        parameters, npus = served_size(row)
        return cls.of_load_test(
            levels=served_levels(row),
            parameters=parameters,
            npus=npus,
            requests_per_npu=(row.count("concurrency") or 1) / npus,
            tokens=(row.count("input_len") or 0) + (row.count("output_len") or 0) / 2,
        )

    @classmethod
    def of_load_test(
        cls,
        *,
        levels: tuple[str, ...],
        parameters: int,
        npus: int,
        requests_per_npu: float,
        tokens: float,
    ) -> "RunPlace":
        """The place of a load test, *tokens* being the mean length of a request."""
        mode, kind, engine, npu, number_format, _ = levels
        sorts = (mode == POOLS, *(engine == each for each in ENGINES))
        return cls(
            levels=levels,
            kinds=(kind, number_format, npu),
            model=(log2(parameters), log2(npus)),
            layout=(
                log2(requests_per_npu),
                log2(max(tokens, 1)),
                *(APART if there else 0.0 for there in sorts),
            ),
        )


def shared(one: Sequence[RunPlace], other: Sequence[RunPlace], likeness: Likeness) -> Floats:
    """(len(one), len(other)): covariance of scaled residuals of different runs of one site.

    Runs of one accelerator, format and kind of model share a part that fades with the doublings
    between models and between layouts, others nothing: a factor of the site as a whole or of a kind
    lowered no errors. An exponential of a distance is a covariance.

    Source: C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006, section 4.2.
    """
    if not one or not other:
        return np.zeros((len(one), len(other)))
    models = _apart([p.model for p in one], [p.model for p in other]) / likeness.model_reach
    layouts = _apart([p.layout for p in one], [p.layout for p in other]) / likeness.layout_reach
    part = likeness.shared * _same_kind(one, other) * np.exp(-models - layouts)
    return np.asarray(likeness.variance * part, np.float64)


def _same_kind(one: Sequence[RunPlace], other: Sequence[RunPlace]) -> Floats:
    kinds: dict[tuple[str, ...], int] = {}
    numbers = [
        np.array([kinds.setdefault(place.kinds, len(kinds)) for place in places])
        for places in (one, other)
    ]
    return np.asarray(numbers[0][:, None] == numbers[1][None, :], np.float64)


def _apart(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Floats:
    """Doublings between all pairs, added up over the coordinates."""
    first, second = np.array(one, np.float64), np.array(other, np.float64)
    return np.asarray(np.abs(first[:, None, :] - second[None, :, :]).sum(axis=2), np.float64)
