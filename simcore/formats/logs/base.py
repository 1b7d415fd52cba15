"""One observation from a log, and the rule for steps that warm up."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from simcore.errors import ConfigError

WARM_UP = 0.1
"""Part of the first steps that is left out: kernels are compiled and memory is found in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Measured figures of one run; None where the tool does not write them.

    Attributes:
        tool: That wrote the log.
        steps: Steps, requests or messages behind the figures.
        step_s: Time of one iteration.
        tokens_per_s_per_npu: Trained tokens.
        first_token_s, per_token_s: Mean time to the first token, and per output token.
    """

    tool: str
    steps: int
    step_s: float | None = None
    tokens_per_s_per_npu: float | None = None
    first_token_s: float | None = None
    per_token_s: float | None = None


def settled(values: Sequence[float], at: str, what: str) -> float:
    """The median of *values*, in order of time, without those of the warm-up.

    Raises:
        ConfigError: There are none, or one is not above 0.
    """
    if not values:
        raise ConfigError(at, f"must hold {what}", got="none")
    if min(values) <= 0 or max(values) == inf:
        wrong = min(values) if min(values) <= 0 else inf
        raise ConfigError(at, f"{what} must be finite and above 0", got=wrong)
    first = -(-len(values) // round(1 / WARM_UP)) if len(values) > 1 else 0
    return float(median(values[first:]))
