"""Kinds of kernel tables: what is read of the files, which points are kept."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

ENGINES = {"trtllm": "tensorrt_llm", "vllm": "vllm", "sglang": "sglang"}
"""Folders that are read, and our names of the engines."""

FORMATS = {
    "bfloat16": "bf16",
    "float16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "w4a16_mxfp4": "w4a16_mxfp4",
    "w4a8_mxfp4_mxfp8": "w4a8_mxfp4",
    "int4_wo": "w4a16_int4",
}
BYTES = {
    "bf16": 2.0, "fp8": 1.0, "fp8_block": 1.0, "nvfp4": 0.5625, "w4a16_mxfp4": 0.53125,
    "w4a8_mxfp4": 0.53125, "w4a16_int4": 0.53125,
}  # fmt: skip
_EDGES = [32, 128, 512, 2048, 8192, 65536]
_ROWS = [2**power for power in range(16)]
_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384]


@dataclass(frozen=True)
class Kind:
    """A kind of kernel.

    Attributes:
        keys: Columns that tell its tables apart.
        shape: Coordinates within a table.
        read: The table of one accelerator and engine, with ``us`` and ``version``.
        chosen: Which rows are kept.
        bound_us: Time that varies with the shape about as the measured one does.
        least: Rows that a table must keep.
    """

    name: str
    keys: tuple[str, ...]
    shape: tuple[str, ...]
    read: Callable[[Path, str], pd.DataFrame]
    chosen: Callable[[pd.DataFrame], pd.Series]
    bound_us: Callable[[pd.DataFrame], pd.Series]
    least: int = 20


def _files(source: Path, folder: str, engine: str, name: str) -> pd.DataFrame:
    """Newest version of each file, older ones for what it has not."""
    found = sorted((source / folder / engine).glob(f"*/{name}_perf.parquet"), key=_version)
    return pd.concat([pd.read_parquet(path) for path in found]) if found else pd.DataFrame()


def _version(path: Path) -> tuple[int, ...]:
    digits = path.parent.name.replace("rc", ".").replace("post", "").split(".")
    return tuple(int(part) for part in digits if part.isdigit())


def _finished(
    table: pd.DataFrame,
    engine: str,
    keys: tuple[str, ...],
    shape: tuple[str, ...],
    chosen_by: tuple[str, ...] = (),
) -> pd.DataFrame:
    """One row per point: of the newest version, the fastest kernel, as an engine would choose."""
    table = table[table.latency > 0]
    table = table.assign(engine=ENGINES[engine], us=1e3 * table.latency)
    columns = [*keys, *shape, *chosen_by]
    newest = table.groupby(columns, as_index=False).tail(1)[[*columns, "version"]]
    table = table.merge(newest, on=[*columns, "version"])
    return table.groupby([*columns, "version"], as_index=False).us.min()


def _products(source: Path, engine: str) -> pd.DataFrame:
    table = _files(source, "gemm", engine, "gemm")
    if table.empty:
        return table
    table = table.assign(format=table.gemm_dtype.map(FORMATS)).dropna(subset="format")
    return _finished(table, engine, *PRODUCT)


def _read_attention(name: str, past: Callable[[pd.DataFrame], pd.Series]) -> Callable[[Path, str], pd.DataFrame]:
    def read(source: Path, engine: str) -> pd.DataFrame:
        table = _files(source, "attention", engine, name)
        if table.empty:
            return table
        if "window_size" in table:
            table = table[table.window_size.fillna(0) <= 0]
        if name.startswith("context"):
            table = table[(table.attn_dtype == "bfloat16") & (table.step.fillna(0) == 0)]
        own = table.num_key_value_heads.where(table.num_key_value_heads > 0, table.num_heads)
        table = table.assign(
            format=table.kv_cache_dtype.map(FORMATS), width=table.head_dim, sequences=table.batch_size,
            key_heads=own, group=table.num_heads // own, keys=past(table),
        )
        return _finished(table, engine, *ATTENTION)

    return read


def _read_latent(name: str, past: Callable[[pd.DataFrame], pd.Series]) -> Callable[[Path, str], pd.DataFrame]:
    def read(source: Path, engine: str) -> pd.DataFrame:
        table = _files(source, "mla", engine, name)
        if table.empty:
            return table
        if name.startswith("context"):
            table = table[table.step.fillna(0) == 0]
        table = table.assign(
            format=table.kv_cache_dtype.map(FORMATS), sequences=table.batch_size, heads=table.num_heads,
            keys=past(table),
        )
        return _finished(table, engine, *LATENT)

    return read


def _experts(source: Path, engine: str) -> pd.DataFrame:
    table = _files(source, "moe", engine, "moe")
    if table.empty:
        return table
    table = table[table.distribution == "power_law_1.2"]
    table = table.assign(
        format=table.moe_dtype.map(FORMATS),
        rows=table.num_tokens * table.topk / table.num_experts,
        held=table.num_experts // table.moe_ep_size,
        hidden=table.hidden_size,
        inner=table.inter_size // table.moe_tp_size,
    ).dropna(subset="format")
    return _finished(table, engine, *EXPERTS, chosen_by=("num_tokens", "moe_tp_size", "moe_ep_size"))


PRODUCT = ("engine", "format"), ("m", "n", "k")
ATTENTION = ("engine", "format", "width"), ("sequences", "key_heads", "group", "keys")
LATENT = ("engine", "format"), ("sequences", "heads", "keys")
EXPERTS = ("engine", "format"), ("rows", "held", "hidden", "inner")


def _product_bound(t: pd.DataFrame) -> pd.Series:
    """At 1 PFLOP/s of 8 bits and 4 TB/s: near enough, as only its course matters."""
    size = t.format.map(BYTES)
    flop_us = 2.0 * t.m * t.n * t.k * size / 1e9
    return np.maximum(flop_us, (size * t.k * (t.m + t.n) + 2 * t.m * t.n) / 4e6) + 2


def _decode_bound(t: pd.DataFrame) -> pd.Series:
    return 2.0 * t.format.map(BYTES) * t.sequences * t.key_heads * t["keys"] * t.width / 4e6 + 3


def _prefill_bound(t: pd.DataFrame) -> pd.Series:
    heads = t.sequences * t.key_heads * t.group
    return 2.0 * heads * t["keys"].astype(float) ** 2 * t.width / 1e9 + 3


def _latent_decode_bound(t: pd.DataFrame) -> pd.Series:
    return 576.0 * t.format.map(BYTES) * t.sequences * t["keys"] / 4e6 + 4


def _latent_prefill_bound(t: pd.DataFrame) -> pd.Series:
    return 320.0 * t.sequences * t.heads * t["keys"].astype(float) ** 2 / 1e9 + 4


def _experts_bound(t: pd.DataFrame) -> pd.Series:
    met = t.held * (1 - np.exp(-t["rows"]))
    size = t.format.map(BYTES)
    weights = 3.0 * met * t.hidden * t.inner * size
    return np.maximum(weights / 4e6, 6.0 * t["rows"] * t.held * t.hidden * t.inner * size / 1e9) + 8


def _among(**wanted: list[int]) -> Callable[[pd.DataFrame], pd.Series]:
    def chosen(table: pd.DataFrame) -> pd.Series:
        found = pd.Series(data=True, index=table.index)
        for column, values in wanted.items():
            found &= table[column].isin(values)
        return found

    return chosen


_KEYS = [2, 16, 128, 1024, 4096, 8192, 32768, 131072]
_SEQUENCES = [1, 4, 16, 64, 256, 1024]
_PROMPTS = [1, 64, 256, 1024, 2048, 4096, 8192, 16384]

KINDS = (
    Kind("product", *PRODUCT, _products, _among(m=_ROWS, n=_EDGES, k=_EDGES), _product_bound),
    Kind(
        "attention_decode", *ATTENTION, _read_attention("generation_attention", lambda t: t.step + 1),
        _among(sequences=_SEQUENCES, key_heads=[1, 8], group=[1, 4, 8, 16], keys=_KEYS, width=[64, 128]),
        _decode_bound,
    ),
    Kind(
        "attention_prefill", *ATTENTION, _read_attention("context_attention", lambda t: t.isl),
        _among(sequences=_SEQUENCES, key_heads=[1, 8], group=[1, 8], keys=_PROMPTS, width=[64, 128]),
        _prefill_bound,
    ),
    Kind(
        "latent_decode", *LATENT, _read_latent("generation_mla", lambda t: t.isl + t.step),
        _among(sequences=_SEQUENCES, heads=[1, 4, 16, 64, 128], keys=_KEYS), _latent_decode_bound,
    ),
    Kind(
        "latent_prefill", *LATENT, _read_latent("context_mla", lambda t: t.isl),
        _among(sequences=_SEQUENCES, heads=[1, 4, 16, 64, 128], keys=_PROMPTS), _latent_prefill_bound,
    ),
    Kind("experts", *EXPERTS, _experts, _among(num_tokens=_TOKENS, moe_tp_size=[1, 4], moe_ep_size=[1, 4, 16]), _experts_bound),
)  # fmt: skip
