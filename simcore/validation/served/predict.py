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
from simcore.validation.served.mapping import MEAN_LENGTH, Load, ServedRuns, Shape
from simcore.validation.served.models import served_model
from simcore.validation.served.stack import stack_of
from simcore.validation.served.steps import between

MOST_READ = 8192
"""Tokens of prompts that a step reads at most: the engines' own default on these accelerators."""

SPLIT_WORKERS = 4
"""Workers of a pool that splits attention, where a table does not tell: the median of rows that do;
those that copy it are 1."""

REQUESTS_EACH = 10
"""Requests of a load test, one after the other, in each place: the first all start together, and
wait on average for half of their prompts (InferenceX asks ten times its concurrency)."""

_ROUNDS = 6
"""Halvings of the distance to the number of answers under way, less than 2 % of it in the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPrediction:
    """Prediction for one load test.

    Attributes:
        id: Of the row.
        status: ``ok`` or ``unsupported``.
        reason: Why not ``ok``.
        ttft_s: Time to the first token; of one pool, with half of a step, the wait for a place in
            memory or in a step, and the mean wait of requests that all start together.
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
        """Steps of decoding, in some of which the prompts of others are read beside.

        In a steady state every request reads one prompt while it writes one answer: a step begins
        as many prompts as there are answers under way for each token of one. Requests for which the
        memory has no room wait until others are answered. Where more prompts arrive than a step can
        read, all steps read, and requests wait until as few answers are under way as ask for no
        more.
        """
        shape = Shape.of(row, served_model(row.text("model")))
        prompt, answer = _lengths(row)
        instances = _instances(row, shape)
        sequences = _needed(row, "concurrency") // instances
        decode = Load(step="decode", sequences=sequences, keys=prompt + answer // 2)
        served = min(sequences, stack_of(row).most_sequences(self._runs.run(row, shape, decode)))
        parts = ceil(prompt / MOST_READ)
        tokens = ceil(prompt / parts)
        begun = parts * served / shape.replicas / answer  # chunks per step
        chunks = min(max(1, round(begun)), max(1, MOST_READ // tokens))
        reading = begun / chunks  # part of the steps that read, or chunks that wait for a step
        answered = max(1, round(served / max(1.0, reading)))
        decode = replace(decode, sequences=answered)
        mixed = replace(decode, chunks=chunks, chunk_tokens=tokens, chunk_parts=parts)
        decode_s, mixed_s = (self._step_s(row, shape, load) for load in (decode, mixed))
        read_s = mixed_s - decode_s
        tpot_s = decode_s + min(1.0, reading) * read_s
        place_s = (sequences / answered - 1) * answer * tpot_s  # by Little's law
        start_s = parts * sequences / shape.replicas / chunks * read_s / 2
        ttft_s = parts * mixed_s + decode_s / 2 + place_s + start_s / REQUESTS_EACH
        return ttft_s, tpot_s, instances * shape.npus

    def _pools(self, row: MeasuredRow) -> tuple[float, float, int]:
        """Answers in a pool of their own wait for no prompts, but for a place in the other pool.

        Where prompts take longer than answers, requests queue for the first pool, and so many
        fewer are answered at once: as many as leave the second pool at the rate of the first.
        """
        model = served_model(row.text("model"))
        reads, writes = (Shape.of(row, model, f"{pool}_") for pool in ("prefill", "decode"))
        prompt, answer = _lengths(row)
        sequences, readers = _needed(row, "concurrency"), row.count("prefill_num_workers")
        prompts = Load(step="prefill", sequences=reads.replicas, keys=prompt)
        prefill_s = self._step_s(row, reads, prompts)
        workers = row.count("decode_num_workers")
        if workers is None:
            left = _needed(row, "num_gpus") - (readers or 1) * reads.npus
            workers = max(1, left // writes.npus)

        def tpot_s(shape: Shape, count: int, answered: float) -> float:
            each = max(1, round(answered / count))
            load = Load(step="decode", sequences=each, keys=prompt + answer // 2)
            return self._step_s(row, shape, load)

        if workers > 1 or readers or model.latent is None or writes.tp == 1:
            decode_s = tpot_s(writes, workers, sequences)
        else:
            ways = ((writes, SPLIT_WORKERS), (writes.copied(model), 1))
            decode_s = min(tpot_s(shape, count, sequences) for shape, count in ways)
        if readers:
            rate = readers * reads.replicas / prefill_s
            answered = float(sequences)
            for _ in range(_ROUNDS):
                answered = (answered + min(sequences, rate * answer * decode_s)) / 2
                decode_s = tpot_s(writes, workers, answered)
        return prefill_s + decode_s, decode_s, _needed(row, "num_gpus")

    def _step_s(self, row: MeasuredRow, shape: Shape, load: Load) -> float:
        """Time of a step, straight between those in which all copies have equally many sequences.

        Below one each, copies without a sequence keep pace with the others; fewer experts are met.
        """
        each = load.sequences / shape.replicas
        fewest = max(1, int(each))

        def whole_s(number: int) -> float:
            return self._even_s(row, shape, replace(load, sequences=number * shape.replicas))

        return between((fewest, fewest + 1), each, whole_s)

    def _even_s(self, row: MeasuredRow, shape: Shape, load: Load) -> float:
        run = self._runs.run(row, shape, load)
        key = run.model_dump_json(exclude={"platform": {"npu": {"sources"}}})
        if key not in self._known:
            self._known[key] = self._simulator.simulate(run).iteration_time_s
        return stack_of(row).step_s(run, self._known[key])


def _instances(row: MeasuredRow, shape: Shape) -> int:
    """Instances that share the requests: several where each rank has fewer than all."""
    sequences, each = _needed(row, "concurrency"), row.number("batch_per_rank")
    return min(sequences, max(1, round(sequences / (each * shape.replicas)))) if each else 1


def _lengths(row: MeasuredRow) -> tuple[int, int]:
    """Mean tokens of a prompt and of an answer."""
    prompt, answer = (ceil(MEAN_LENGTH * _needed(row, f"{end}_len")) for end in ("input", "output"))
    return prompt, answer


def _needed(row: MeasuredRow, column: str) -> int:
    value = row.count(column)
    if value is None:
        raise UnsupportedRow(f"{column} is not told")
    return value
