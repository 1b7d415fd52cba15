"""Result of vLLM's ``benchmark_serving`` (``vllm bench serve --save-result``).

Source: vLLM, vllm/benchmarks/serve.py, the keys of its result file.
"""

from math import inf

from simcore.errors import ConfigError
from simcore.formats.logs.base import Observed

KEYS = ("mean_ttft_ms", "mean_tpot_ms")
TOOL = "vLLM benchmark_serving"


def observed(data: dict[str, object], at: str) -> Observed:
    """Mean times to the first token and per output token.

    Raises:
        ConfigError: One is missing or no time, or no request was completed.
    """
    first_ms, each_ms = (_above_zero(data, key, at) for key in KEYS)
    requests = int(_above_zero(data, "completed", at))
    return Observed(
        tool=TOOL, steps=requests, first_token_s=first_ms * 1e-3, per_token_s=each_ms * 1e-3
    )


def _above_zero(data: dict[str, object], key: str, at: str) -> float:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise ConfigError(f"{at}: {key}", "must be a number above 0", got=value)
    return float(value)
