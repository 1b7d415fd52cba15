"""Times to the first token and per token of an engine under closed-loop load."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from simcore.errors import SimcoreError
from simcore.simulation import Simulator
from simcore.validation.bands.band import Band
from simcore.validation.bands.serving import served_band
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.mapping import MEAN_LENGTH, ServedRuns, Shape, Step
from simcore.validation.served.models import served_model


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPrediction:
    """Prediction for one load test.

    Attributes:
        id: Of the row.
        status: ``ok`` or ``unsupported``.
        reason: Why not ``ok``.
        ttft_s: Time to the first token without waiting for a place, half of a step included.
        tpot_s: Time per output token.
        tokens_per_s_per_npu: Output tokens.
        band: Of the time per output token.
    """

    id: str
    status: str
    reason: str = ""
    ttft_s: float | None = None
    tpot_s: float | None = None
    tokens_per_s_per_npu: float | None = None
    band: Band | None = None


def predict_serving(path: Path) -> Iterator[ServedPrediction]:
    """One prediction per row of the table *path*; equal steps are simulated once.

    Raises:
        ConfigError: The table cannot be read.
    """
    predictor = ServedPredictor()
    for row in MeasuredRow.all_of(path):
        found = predictor.predict(row)
        yield replace(found, band=served_band(row)) if found.status == "ok" else found


class ServedPredictor:
    """Predicts rows, and remembers equal steps."""

    def __init__(self) -> None:
        self._runs, self._simulator = ServedRuns(), Simulator()
        self._known: dict[str, float] = {}

    def predict(self, row: MeasuredRow) -> ServedPrediction:
        """Prediction of *row*; never raises for what a row holds."""
        try:
            pooled = row.text("mode") == "disagg"
            ttft_s, tpot_s, npus = self._pools(row) if pooled else self._one_pool(row)
        except SimcoreError as error:
            return ServedPrediction(id=row.id, status="unsupported", reason=str(error))
        answer = _lengths(row)[1]
        rate = _needed(row, "concurrency") * answer / (ttft_s + answer * tpot_s) / npus
        return ServedPrediction(
            id=row.id, status="ok", ttft_s=ttft_s, tpot_s=tpot_s, tokens_per_s_per_npu=rate
        )

    def _one_pool(self, row: MeasuredRow) -> tuple[float, float, int]:
        """Steps of decoding, and between them, or within, the reading of the prompts of others.

        In a steady state every request reads one prompt while it writes one answer: of the others'
        prompts, each of its tokens waits for one part in as many as the answer has tokens.
        """
        shape = Shape.of(row, served_model(row.text("model")))
        prompt, answer = _lengths(row)
        sequences = _needed(row, "concurrency")
        decode_s = self._step_s(row, shape, "decode", sequences, prompt + answer // 2)
        prefill_s = self._step_s(row, shape, "prefill", shape.replicas, prompt) / shape.replicas
        tpot_s = decode_s + max(0, sequences - 1) * prefill_s / answer
        return prefill_s * shape.replicas + decode_s / 2, tpot_s, shape.npus

    def _pools(self, row: MeasuredRow) -> tuple[float, float, int]:
        """Answers in a pool of their own wait for no prompts."""
        model = served_model(row.text("model"))
        reads, writes = (Shape.of(row, model, f"{pool}_") for pool in ("prefill", "decode"))
        prompt, answer = _lengths(row)
        readers = row.count("prefill_num_workers") or 1
        left = _needed(row, "num_gpus") - readers * reads.npus
        writers = row.count("decode_num_workers") or max(1, left // writes.npus)
        sequences = max(1, round(_needed(row, "concurrency") / writers))
        decode_s = self._step_s(row, writes, "decode", sequences, prompt + answer // 2)
        prefill_s = self._step_s(row, reads, "prefill", reads.replicas, prompt)
        return prefill_s + decode_s, decode_s, _needed(row, "num_gpus")

    def _step_s(
        self, row: MeasuredRow, shape: Shape, step: Step, sequences: int, keys: int
    ) -> float:
        run = self._runs.run(row, shape, step, sequences, keys)
        key = run.model_dump_json(exclude={"platform": {"npu": {"sources"}}})
        if key not in self._known:
            self._known[key] = self._simulator.simulate(run).iteration_time_s
        return self._known[key]


def _lengths(row: MeasuredRow) -> tuple[int, int]:
    """Mean tokens of a prompt and of an answer."""
    prompt, answer = (ceil(MEAN_LENGTH * _needed(row, f"{end}_len")) for end in ("input", "output"))
    return prompt, answer


def _needed(row: MeasuredRow, column: str) -> int:
    value = row.count(column)
    if value is None:
        raise UnsupportedRow(f"{column} is not told")
    return value
