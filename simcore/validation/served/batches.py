"""Throughput of whole batches, and of engines that never wait for requests."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import exp, fsum, log
from pathlib import Path

from simcore.errors import SimcoreError
from simcore.simulation import Simulator
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.accelerators import ServedMachines
from simcore.validation.served.batch_rows import FULL_LOAD, Batch
from simcore.validation.served.device import Instance
from simcore.validation.served.engine import ServingEngine
from simcore.validation.served.mapping import ServedRuns, Step
from simcore.validation.served.steps import StepTimes
from simcore.validation.served.systems import served_as

WHOLE = 0.81, 1.27
"""Measured over predicted throughput of whole batches: 83 % of 1,403 public rows lie between.

The nearest 80 % lie within 0.82 and 1.23, but such a band holds only 77 % of the rows of a model,
and 78 % of those of an accelerator, that it was made without.
"""

FULL = 0.81, 1.24
"""Likewise at full load: 80 % of 191 rows, and 78 to 80 % of those left out."""

UNSEEN = 0.5, 1.6
"""Likewise on accelerators on which no batch was measured: without its rows an accelerator that has
no tables of kernels would be off by as much. A judgement, no quantile: there are two of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPrediction:
    """Prediction for one batch.

    Attributes:
        id: Of the row.
        status: ``ok`` or ``unsupported``.
        reason: Why not ``ok``.
        ttft_s, tpot_s: Times until the first tokens and of each further one.
        tokens_per_s_per_npu: Tokens that the row counts.
        band: Parts of that between which four of five measured ones lie.
    """

    id: str
    status: str
    reason: str = ""
    ttft_s: float | None = None
    tpot_s: float | None = None
    tokens_per_s_per_npu: float | None = None
    band: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTimes:
    """Times of a batch.

    Attributes:
        read_s: Until the first tokens of all answers.
        token_s: Of each further token, on average.
        tokens_per_s: Counted ones, of one instance.
    """

    read_s: float
    token_s: float
    tokens_per_s: float


def predict_batches(path: Path) -> Iterator[BatchPrediction]:
    """One prediction per row of the table *path*; equal steps are simulated once.

    Raises:
        ConfigError: The table cannot be read.
    """
    predictor = BatchPredictor()
    for row in MeasuredRow.all_of(path):
        yield predictor.predict(row)


class BatchPredictor:
    """Predicts rows, and remembers steps."""

    def __init__(self) -> None:
        self._machines = ServedMachines()
        self._runs, self._simulator = ServedRuns(self._machines.platform), Simulator()
        self._steps: dict[tuple[object, ...], StepTimes] = {}
        self._rooms: dict[tuple[object, ...], int] = {}

    def predict(self, row: MeasuredRow) -> BatchPrediction:
        """Prediction of *row*; never raises for what a row holds.

        Where the row does not name the engine, the times are the geometric means of those of the
        engines that it may have been.
        """
        try:
            batch = Batch.of(row)
            engines = self._machines.engines(batch.row)
            found = [self.times(batch, engine) for engine in engines]
        except SimcoreError as error:
            return BatchPrediction(id=row.id, status="unsupported", reason=str(error))
        rate = _middle([times.tokens_per_s for times in found]) / batch.shape.npus
        return BatchPrediction(
            id=row.id,
            status="ok",
            ttft_s=_middle([times.read_s for times in found]),
            tpot_s=_middle([times.token_s for times in found]),
            tokens_per_s_per_npu=rate,
            band=band_of(row),
        )

    def times(self, batch: Batch, engine: ServingEngine) -> BatchTimes:
        """Times of *batch* with *engine*.

        Raises:
            SimcoreError: It cannot run like this; says why.
        """
        room = self.room(batch, engine)
        instance = self._instance(batch, engine)
        if batch.sequences is None:
            return self._full_load(instance, room)
        return self._whole_batch(instance, batch.sequences, room)

    def room(self, batch: Batch, engine: ServingEngine) -> int:
        """Sequences that *engine* works on at once, with their whole answers in memory."""
        place = (*_place(batch, engine), batch.prompt, batch.written)
        if place not in self._rooms:
            instance = self._instance(batch, engine)
            self._rooms[place] = instance.most_sequences(batch.prompt + batch.written)
        return min(self._rooms[place], engine.largest_batch * batch.shape.replicas)

    def _instance(self, batch: Batch, engine: ServingEngine) -> Instance:
        return Instance(batch, engine, self._runs, self._simulator)

    def _whole_batch(self, instance: Instance, sequences: int, room: int) -> BatchTimes:
        """Rounds of as many sequences as there is *room* for, until all are answered."""
        rounds, rest = divmod(sequences, room)
        parts = [(room, rounds)] if rounds else []
        parts += [(rest, 1)] if rest else []
        batch = instance.batch
        total_s = 0.0
        for number, times in parts:
            read_s = self._reading_s(instance, number)
            total_s += times * (read_s + (batch.written - 1) * self._token_s(instance, number))
        first = parts[0][0]
        return BatchTimes(
            read_s=self._reading_s(instance, first),
            token_s=self._token_s(instance, first),
            tokens_per_s=sequences * batch.counted / total_s,
        )

    def _full_load(self, instance: Instance, room: int) -> BatchTimes:
        """A place that gets free is taken at once: in a steady state each answer costs one prompt.

        Between two tokens of an answer its part of the other prompts is read.
        """
        batch = instance.batch
        read_s = self._reading_s(instance, 1)
        each_s = self._reading_s(instance, room) / room
        token_s = self._token_s(instance, room) + room * each_s / batch.written
        rate = room * batch.counted / (batch.written * token_s)
        return BatchTimes(read_s=read_s, token_s=token_s, tokens_per_s=rate)

    def _token_s(self, instance: Instance, sequences: int) -> float:
        """Mean time of the steps in which *sequences* answers are written."""
        batch = instance.batch
        first, last = batch.prompt + 1, batch.prompt + batch.written
        mean_s = self._steps_of(instance).mean_s(sequences, first, last)
        return mean_s + instance.idle_s(sequences)

    def _reading_s(self, instance: Instance, sequences: int) -> float:
        """Time in which so many prompts are read, as many at once as the engine takes."""
        batch, engine = instance.batch, instance.engine
        copies = batch.shape.replicas
        at_once = copies * max(1, engine.read_tokens // batch.prompt)
        steps, rest = divmod(sequences, at_once)
        total_s = steps * self._read_s(instance, at_once) if steps else 0.0
        total_s += self._read_s(instance, rest) if rest else 0.0
        return total_s + instance.idle_s(sequences)

    def _read_s(self, instance: Instance, prompts: int) -> float:
        return self._steps_of(instance, "prefill").with_keys(prompts, instance.batch.prompt)

    def _steps_of(self, instance: Instance, step: Step = "decode") -> StepTimes:
        place = (*_place(instance.batch, instance.engine), step)
        if place not in self._steps:
            self._steps[place] = StepTimes(partial(instance.step_s, step))
        return self._steps[place]


def _place(batch: Batch, engine: ServingEngine) -> tuple[object, ...]:
    """All that the steps of *engine* and its memory depend on beside lengths and sequences."""
    cells = (batch.row.text(column) for column in ("system", "gemm_format"))
    return (batch.model.name, *cells, batch.shape, engine.on_accelerators)


def _middle(values: list[float]) -> float:
    """Geometric mean."""
    return exp(fsum(map(log, values)) / len(values))


def band_of(row: MeasuredRow) -> tuple[float, float]:
    """Least and greatest part of the predicted throughput of *row* that is to be expected.

    Raises:
        UnsupportedRow: Its accelerator is not known.
    """
    if not served_as(row).was_held:
        return UNSEEN
    return FULL if row.text("batch") == FULL_LOAD else WHOLE
