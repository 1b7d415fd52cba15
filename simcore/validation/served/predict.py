"""Times to the first token and per token of an engine under closed-loop load."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path
from statistics import geometric_mean

from simcore.errors import SimcoreError
from simcore.simulation import Simulator
from simcore.validation.bands.band import Band
from simcore.validation.bands.serving import served_band
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.mapping import MEAN_LENGTH, Load, ServedRuns, Shape
from simcore.validation.served.models import served_model
from simcore.validation.served.pools import Pool, Pools
from simcore.validation.served.recipes import either, load_tests
from simcore.validation.served.stack import stack_of
from simcore.validation.served.steps import between

REQUESTS_EACH = 10
"""Requests of a load test, one after the other, in each place: the first all start together, and
wait on average for half of their prompts (InferenceX asks ten times its concurrency)."""

_CLOSE = 1.02
"""Factor within which the number of answers under way is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPrediction:
    """Prediction for one load test.

    Attributes:
        id: Of the row.
        status: ``ok`` or ``unsupported``.
        reason: Why not ``ok``.
        ttft_s: Time to the first token, with the mean wait of requests that all start together,
            and for a place: of one pool in memory or in a step, and with half of a step; of two in
            the pool that reads.
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
    """One prediction per row of the table *path*, completed by recipes; equal steps count once.

    Raises:
        ConfigError: The table cannot be read.
    """
    predictor = ServedPredictor()
    for row in load_tests(path):
        yield _with_band(row, predictor.predict(row))


def _with_band(row: MeasuredRow, found: ServedPrediction) -> ServedPrediction:
    """*found* with its band; a cell that only the band asks for may be the one that is wrong."""
    if found.status != "ok":
        return found
    try:
        return replace(found, band=served_band(row))
    except SimcoreError as error:
        return ServedPrediction(id=row.id, status="unsupported", reason=str(error))


class ServedPredictor:
    """Predicts rows, and remembers equal steps."""

    def __init__(self) -> None:
        self._runs, self._simulator = ServedRuns(), Simulator()
        self._pools_of = Pools(self._runs)
        self._known: dict[str, float] = {}

    def predict(self, row: MeasuredRow) -> ServedPrediction:
        """Prediction of *row*; never raises for what a row holds.

        Where it is one of several tests that its columns do not tell apart, the geometric mean.
        """
        try:
            found = [self._times(each) for each in either(row)]
        except SimcoreError as error:
            return ServedPrediction(id=row.id, status="unsupported", reason=str(error))
        ttft_s, tpot_s = (geometric_mean(times) for times in list(zip(*found, strict=True))[:2])
        answer, npus = _lengths(row)[1], found[0][2]
        rate = _needed(row, "concurrency") * answer / (ttft_s + answer * tpot_s) / npus
        return ServedPrediction(
            id=row.id, status="ok", ttft_s=ttft_s, tpot_s=tpot_s, tokens_per_s_per_npu=rate
        )

    def _times(self, row: MeasuredRow) -> tuple[float, float, int]:
        """Times to the first token and per token, and NPUs."""
        return self._two_pools(row) if self._pools_of.apart(row) else self._one_pool(row)

    def _one_pool(self, row: MeasuredRow) -> tuple[float, float, int]:
        """Steps of decoding, in some of which the prompts of others are read beside.

        In a steady state every request reads one prompt while it writes one answer: a step begins
        as many prompts as there are answers under way for each token of one. Requests for which the
        memory has no room wait until others are answered. Where more prompts arrive than a step can
        read, all steps read, and requests wait until as few answers are under way as ask for no
        more.
        """
        shape, stack = self._pools_of.shape(row), stack_of(row)
        prompt, answer = _lengths(row)
        instances = _instances(row, shape)
        sequences = _needed(row, "concurrency") // instances
        decode = Load(step="decode", sequences=sequences, keys=prompt + answer // 2)
        served = min(sequences, stack.most_sequences(self._runs.run(row, shape, decode)))
        parts = stack.parts(prompt)
        tokens = ceil(prompt / parts)
        begun = parts * served / shape.replicas / answer  # chunks per step
        chunks = min(max(1, round(begun)), max(1, stack.read_tokens // tokens))
        reading = begun / chunks  # part of the steps that read, or chunks that wait for a step
        if stack.reads_alone:
            decode_s = self._step_s(row, shape, replace(decode, sequences=served))
            alone = Load(step="prefill", sequences=chunks * shape.replicas, keys=tokens)
            read_s = mixed_s = self._step_s(row, shape, alone)
            tpot_s, answered = decode_s + reading * read_s, served
        else:
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

    def _two_pools(self, row: MeasuredRow) -> tuple[float, float, int]:
        """Answers in a pool of their own wait for no prompts, but for a place in the other pool.

        Degrees of one pool that are none of one count the NPUs of both.

        Where prompts take longer than answers, requests queue for the first pool, and so many
        fewer are answered at once: as many as leave the second pool at the rate of the first.
        """
        prompt, answer = _lengths(row)
        sequences = _needed(row, "concurrency")
        told = row.text("mode") == "disagg"
        reads, writes = (
            self._pools_of.shape(row, f"{pool}_" if told else "") for pool in ("prefill", "decode")
        )
        if not told:
            writes = self._left_to_answer(row, writes)
        readers = row.count("prefill_num_workers") or 1
        prompts = Load(step="prefill", sequences=reads.replicas, keys=prompt)
        prefill_s = self._step_s(row, reads, prompts)

        def tpot_s(pool: Pool, answered: float) -> float:
            each = max(1, round(answered / pool.count))
            load = Load(step="decode", sequences=each, keys=prompt + answer // 2)
            return self._step_s(row, pool.shape, load)

        pools = self._pools_of.ways(row, writes, readers * reads.npus if told else 0)
        decode_s, pool, answered = min(
            ((tpot_s(pool, most), pool, float(most)) for pool, most in _held(row, pools)),
            key=lambda each: each[0],
        )
        rate = readers * self._prompts_per_s(row, reads)
        if row.count("prefill_num_workers"):
            fewest = 1.0
            while rate * answer * decode_s < answered and answered > _CLOSE * fewest:
                middle = sqrt(fewest * answered)
                middle_s = tpot_s(pool, middle)
                if rate * answer * middle_s < middle:
                    answered, decode_s = middle, middle_s
                else:
                    fewest = middle
        place_s = (sequences / answered - 1) * answer * decode_s  # by Little's law
        start_s = (sequences - 1) / rate / 2 / REQUESTS_EACH
        ttft_s = prefill_s + decode_s + place_s + start_s
        return ttft_s, decode_s, _needed(row, "num_gpus")

    def _left_to_answer(self, row: MeasuredRow, both: Shape) -> Shape:
        """The NPUs of *both* pools but those that read: as few as keep pace with the answers."""
        prompt, answer = _lengths(row)
        sequences, model = _needed(row, "concurrency"), served_model(row.text("model"))
        load = Load(step="decode", sequences=sequences, keys=prompt + answer // 2)
        each = self._prompts_per_s(row, both) / both.npus

        def lags(reading: int) -> bool:
            left = both.copied(model, both.npus - reading)
            return reading * each * answer * self._step_s(row, left, load) < sequences

        reading = bisect_left(range(1, both.npus - 1), True, key=lambda n: not lags(n)) + 1
        return both.copied(model, both.npus - reading)

    def _prompts_per_s(self, row: MeasuredRow, shape: Shape) -> float:
        """Prompts that one worker reads, as many at once as the engine takes."""
        prompt = _lengths(row)[0]
        together = max(1, stack_of(row).read_tokens // prompt) * shape.replicas
        full = Load(step="prefill", sequences=together, keys=prompt)
        return together / self._step_s(row, shape, full)

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


def _held(row: MeasuredRow, pools: tuple[Pool, ...]) -> list[tuple[Pool, int]]:
    """Pools with the requests that each works on at once: all, or as many as its engine takes."""
    sequences, each = _needed(row, "concurrency"), row.count("decode_max_batch")
    return [
        (pool, min(sequences, each * pool.shape.replicas * pool.count) if each else sequences)
        for pool in pools
    ]


def _instances(row: MeasuredRow, shape: Shape) -> int:
    """Instances that share the requests: several where each rank has fewer than all.

    Ranks are counted as the table does, which may have multiplied the copies of attention.
    """
    sequences, each = _needed(row, "concurrency"), row.number("batch_per_rank")
    if each is not None and each <= 0:
        raise UnsupportedRow(f"batch_per_rank must be above 0, not {each:g}")
    ranks = row.count("attention_dp") or shape.replicas
    return 1 if each is None else min(sequences, max(1, round(sequences / (each * ranks))))


def _lengths(row: MeasuredRow) -> tuple[int, int]:
    """Mean tokens of a prompt and of an answer."""
    prompt, answer = (ceil(MEAN_LENGTH * _needed(row, f"{end}_len")) for end in ("input", "output"))
    return prompt, answer


def _needed(row: MeasuredRow, column: str) -> int:
    value = row.count(column)
    if value is None:
        raise UnsupportedRow(f"{column} is not told")
    return value
