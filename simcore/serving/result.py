"""Result of serving requests."""

from dataclasses import dataclass, replace
from typing import Self

from simcore.result import IterationResult


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
