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
from simcore.workload import TrainingWorkload
from simcore.workload.kinds import InferenceWorkload

ENGINES = ("sglang", "trtllm", "vllm")
WIDTH, TOKENS, TENSOR, LAYOUT, MACHINE = 1.5, 2.0, 1.0, 4.0, 8.0
"""Doublings of training runs that count as 1: of the width of the model, of the tokens of a
micro-batch, of tp, of the other degrees of a plan, of layers and NPUs. What the time of a product
hangs on counts most. Close to the best for the six largest sources, and for the others alike."""
SHARDED = 0.5
"""Distance between layouts with and without sharded weights."""
PARAMETERS, NPUS, REQUESTS, LENGTH = 1.0, 0.5, 2.0, 4.0
"""Doublings of load tests that count as 1: of parameters, of NPUs, of requests per NPU and of
tokens per request."""
APART = 1.0
"""Distance between load tests with one pool and with two, and between those of an engine and of
none in particular; between two engines lies twice as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """Place of a run.

    Attributes:
        levels: Its class in the table of residuals: kind of model, number format, accelerator,
            layout; of a load test pools, kind, engine, accelerator, format, requests at once.
        kinds: Those of them that runs which err alike have in common.
        model: Doublings of parameters and NPUs, as bands take them.
        near: Coordinates; the further two runs are apart in their sum, the less they share. Of
            training runs the width of the model, the tokens of a micro-batch, tp, pp, cp, ep,
            sharded weights or not, NPUs and layers; of load tests parameters, NPUs, requests per
            NPU, tokens per request, pools and engine.
    """

    levels: tuple[str, ...]
    kinds: tuple[str, ...]
    model: tuple[float, float]
    near: tuple[float, ...]

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
        plan, workload = run.plan, run.workload
        assert isinstance(workload, TrainingWorkload)
        return cls.of_training(
            levels=levels_of(run),
            model=(workload.model.parameters, workload.model.hidden, workload.model.layers),
            npus=run.platform.npus,
            tokens=workload.sequence * plan.micro_batch,
            degrees=(plan.tp, plan.pp, plan.cp, plan.ep),
            sharded=plan.zero_stage == 3,
        )

    @classmethod
    def of_training(
        cls,
        *,
        levels: tuple[str, ...],
        model: tuple[int, int, int],
        npus: int,
        tokens: int,
        degrees: tuple[int, int, int, int],
        sharded: bool,
    ) -> "RunPlace":
        """The place of a training run.

        *model*: parameters, width and layers; *tokens* of a micro-batch; *degrees* tp, pp, cp, ep.
        """
        parameters, hidden, layers = model
        tp, *others = degrees
        return cls(
            levels=levels,
            kinds=levels[:3],
            model=(log2(parameters), log2(npus)),
            near=(
                log2(hidden) / WIDTH,
                log2(tokens / degrees[2]) / TOKENS,
                log2(tp) / TENSOR,
                *(log2(degree) / LAYOUT for degree in others),
                SHARDED if sharded else 0.0,
                log2(npus) / MACHINE,
                log2(layers) / MACHINE,
            ),
        )

    @classmethod
    def of_row(cls, row: MeasuredRow) -> "RunPlace":
        """The place of a row of load tests.

        Raises:
            SimcoreError: No shipped model has its shape, or a cell holds no number.
        """
        parameters, npus = served_size(row)
        requests_per_npu, tokens = load_of(row)
        return cls.of_load_test(
            levels=served_levels(row),
            parameters=parameters,
            npus=npus,
            requests_per_npu=requests_per_npu,
            tokens=tokens,
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
            near=(
                log2(parameters) / PARAMETERS,
                log2(npus) / NPUS,
                log2(requests_per_npu) / REQUESTS,
                log2(max(tokens, 1)) / LENGTH,
                *(APART if there else 0.0 for there in sorts),
            ),
        )


def load_of(row: MeasuredRow) -> tuple[float, float]:
    """Requests per NPU at once, and mean tokens of a request, of a row of load tests."""
    requests = (row.count("concurrency") or 1) / served_size(row)[1]
    return requests, (row.count("input_len") or 0) + (row.count("output_len") or 0) / 2


def shared(one: Sequence[RunPlace], other: Sequence[RunPlace], likeness: Likeness) -> Floats:
    """(len(one), len(other)): covariance of scaled residuals of different runs of one site.

    Runs of one accelerator, format and kind of model share a part that fades with what lies between
    them, others nothing: a factor of the site as a whole or of a kind lowered no errors. An
    exponential of a distance is a covariance.

    Source: C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006, section 4.2.
    """
    if not one or not other:
        return np.zeros((len(one), len(other)))
    first, second = (np.array([p.near for p in places], np.float64) for places in (one, other))
    apart = np.abs(first[:, None, :] - second[None, :, :]).sum(axis=2)
    part = likeness.shared * _same_kind(one, other) * np.exp(-apart / likeness.reach)
    return np.asarray(likeness.variance * part, np.float64)


def _same_kind(one: Sequence[RunPlace], other: Sequence[RunPlace]) -> Floats:
    kinds: dict[tuple[str, ...], int] = {}
    numbers = [
        np.array([kinds.setdefault(place.kinds, len(kinds)) for place in places])
        for places in (one, other)
    ]
    return np.asarray(numbers[0][:, None] == numbers[1][None, :], np.float64)
