"""Result of serving requests."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import inf
from typing import Self

from simcore.memo import SMALL_BYTES
from simcore.result import IterationResult
from simcore.serving.transfer import NO_TRANSFER, Transfer


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A batch of prompts on the pool that reads them.

    Attributes:
        result: Its time and memory.
        made_ns: When the keys and values of each micro-batch and layer are there.
        apart_s: How far apart batches are that follow each other without a pause.
        batch: Number of its prompts.
        npus: Of the pool.
    """

    result: IterationResult
    made_ns: Mapping[tuple[int, int], int]
    apart_s: float
    batch: int
    npus: int

    @property
    def size_bytes(self) -> int:
        """Memory that it takes, about: of each micro-batch and layer a key and a time."""
        return SMALL_BYTES + 200 * len(self.made_ns)

    @property
    def link_loads(self) -> list[float]:
        """Loads of the links, see ``IterationResult``, while batches follow without a pause."""
        faster = self.result.iteration_time_s / self.apart_s  # they overlap
        return [load * faster for load in self.result.link_loads]


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """A step of the pool that answers.

    Attributes:
        result: Its time and memory.
        batch: Number of the requests that it answers at once.
        answer: Tokens of an answer.
        npus: Of the pool.
    """

    result: IterationResult
    batch: int
    answer: int
    npus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceResult:
    """A service with as many requests as it can answer.

    Requests do not queue up here: they come as fast as the slowest of reading, transfer and
    answering lets them pass.

    Attributes:
        reading: A batch of prompts on the pool that reads them.
        answering: A step of the pool that answers.
        time_to_first_token_s: From the start of the reading to the first token.
        transfer_s: From then on until the whole cache is where the answer goes on.
        time_per_output_token_s: From one token of an answer to the next.
        request_s: From the start of the reading to the end of the answer.
        cache_bytes: That travel per request.
        read_requests_per_s, sent_requests_per_s, answered_requests_per_s: What reading, transfer
            and answering could each do.
        answer: Tokens of an answer.
        npus: Of both pools.
        link_loads: Per network dimension of the machine, bytes that pass the ports of one NPU over
            what its links can carry, of the pool that loads them more; see ``IterationResult``.
    """

    reading: IterationResult
    answering: IterationResult
    time_to_first_token_s: float
    transfer_s: float
    time_per_output_token_s: float
    request_s: float
    cache_bytes: int
    read_requests_per_s: float
    sent_requests_per_s: float
    answered_requests_per_s: float
    answer: int
    npus: int
    link_loads: tuple[float, ...]

    @classmethod
    def of(
        cls,
        reading: Reading,
        answering: Answering,
        sent: Transfer = NO_TRANSFER,
        cache_bytes: int = 0,
    ) -> Self:
        """The service of two pools, and of the transfer between them.

        Args:
            reading: Of the pool that reads.
            answering: Of the pool that answers.
            sent: The way of the cache of a batch; no service of the same pools is better in any
                figure than one whose cache is there at once.
            cache_bytes: That travel per request.
        """
        first_s, token_s = reading.result.iteration_time_s, answering.result.iteration_time_s
        transfer_s = max(0.0, sent.arrival_ns * 1e-9 - first_s)
        later_s = (answering.answer - 1) * token_s
        loads = zip_longest(reading.link_loads, answering.result.link_loads, fillvalue=0.0)
        return cls(
            reading=reading.result,
            answering=answering.result,
            time_to_first_token_s=first_s,
            transfer_s=transfer_s,
            time_per_output_token_s=token_s,
            request_s=first_s + transfer_s + later_s,
            cache_bytes=cache_bytes,
            read_requests_per_s=reading.batch / reading.apart_s,
            sent_requests_per_s=(
                reading.batch / (sent.busiest_ns * 1e-9) if sent.busiest_ns else inf
            ),
            answered_requests_per_s=answering.batch / later_s,
            answer=answering.answer,
            npus=reading.npus + answering.npus,
            link_loads=tuple(map(max, loads)),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader on each pool."""
        pools = {"prefill": self.reading, "decode": self.answering}
        return tuple(f"{name}: {note}" for name, pool in pools.items() for note in pool.notes)

    @property
    def limits(self) -> dict[str, float]:
        """Requests per second by what limits them."""
        return {
            "reading": self.read_requests_per_s,
            "transfer": self.sent_requests_per_s,
            "answering": self.answered_requests_per_s,
        }

    @property
    def bottleneck(self) -> str:
        """Limit of the requests per second."""
        return min(self.limits, key=self.limits.__getitem__)

    @property
    def requests_per_s(self) -> float:
        return self.limits[self.bottleneck]

    @property
    def tokens_per_s(self) -> float:
        """Tokens of answers."""
        return self.requests_per_s * self.answer

    def answered(self, factor: float) -> Self:
        """The service where tokens of answers take *factor* times as long as simulated."""
        token_s = self.time_per_output_token_s * factor
        later_s = (self.answer - 1) * (token_s - self.time_per_output_token_s)
        return replace(
            self,
            time_per_output_token_s=token_s,
            request_s=self.request_s + later_s,
            answered_requests_per_s=self.answered_requests_per_s / factor,
        )

    def metrics(self) -> dict[str, float]:
        """All figures by names with units."""
        rates = {f"{name}_requests_per_s": rate for name, rate in self.limits.items()}
        return {
            "time_to_first_token_s": self.time_to_first_token_s,
            "transfer_s": self.transfer_s,
            "time_per_output_token_s": self.time_per_output_token_s,
            "request_s": self.request_s,
            "requests_per_s": self.requests_per_s,
            "tokens_per_s": self.tokens_per_s,
            "tokens_per_s_per_npu": self.tokens_per_s / self.npus,
            **rates,
            "cache_bytes": float(self.cache_bytes),
            "link_load": max(self.link_loads),
            "busiest_dimension": float(self.link_loads.index(max(self.link_loads))),
            "footprint_prefill_bytes": float(self.reading.footprint_bytes),
            "footprint_decode_bytes": float(self.answering.footprint_bytes),
        }
