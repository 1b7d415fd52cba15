"""Kernel tables as AIConfigurator holds them, in this project's columns, and the points to keep."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from simcore.validation.served.mapping import FORMATS as ENGINE_FORMATS

ENGINES = {"trtllm": "tensorrt_llm", "vllm": "vllm", "sglang": "sglang"}
"""Folders that are read, and our names of the engines."""

FORMATS = {"bfloat16": "bf16", **ENGINE_FORMATS}
KEYS = ["engine", "format"]
"""Columns that tell tables apart."""

SKEW = "power_law_1.2"
"""How tokens spread over experts in the tables that are read."""

_EDGES = [32, 128, 512, 2048, 8192, 65536]
_ROWS = [2**power for power in range(16)]
_TOKENS = [4**power for power in range(8)]
_SEQUENCES = [1, 4, 16, 64, 256, 1024]
_CACHED = [2, 16, 128, 1024, 4096, 8192, 32768, 131072]
_PROMPTS = [1, 64, 256, 1024, 2048, 4096, 8192, 16384]
_HEADS = [1, 4, 16, 64, 128]


@dataclass(frozen=True)
class Source:
    """Where the kernels of one kind are found, and which points are kept.

    Attributes:
        folder, file: Their place below that of the accelerator.
        columns: The rows of a file in our columns.
        chosen: Values of columns whose points are kept.
        helpers: Columns that ``chosen`` needs beside the coordinates.
    """

    folder: str
    file: str
    columns: Callable[[pd.DataFrame], pd.DataFrame]
    chosen: dict[str, list[int]]
    helpers: tuple[str, ...] = ()

    def read(self, accelerator: Path, engine: str, shape: tuple[str, ...]) -> pd.DataFrame:
        """One row per point, of the newest version, by the fastest of its kernels."""
        files = (accelerator / self.folder / engine).glob(f"*/{self.file}_perf.parquet")
        found = [pd.read_parquet(path) for path in sorted(files, key=_version)]
        if not found:
            return pd.DataFrame()
        table = pd.concat(found)
        table = self.columns(table[table.latency > 0]).dropna(subset="format")
        table = table.assign(engine=ENGINES[engine], us=1e3 * table.latency)
        place = [*KEYS, *shape, *self.helpers]
        newest = table.groupby(place, as_index=False).tail(1)[[*place, "version"]]
        table = table.merge(newest, on=[*place, "version"])
        return table.groupby([*place, "version"], as_index=False).us.min()

    def keeps(self, table: pd.DataFrame) -> pd.Series:
        """Which rows are points of the table; the others are left out, and predicted."""
        found = pd.Series(data=True, index=table.index)
        for column, values in self.chosen.items():
            found &= table[column].isin(values)
        return found


def _version(path: Path) -> tuple[int, ...]:
    digits = path.parent.name.replace("rc", ".").replace("post", "").split(".")
    return tuple(int(part) for part in digits if part.isdigit())


def _products(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(format=table.gemm_dtype.map(FORMATS))


def _attention(table: pd.DataFrame) -> pd.DataFrame:
    """Without windows; queries in 16 bits; a prompt that nothing stands before."""
    if "window_size" in table:
        table = table[table.window_size.fillna(0) <= 0]
    prefills = table.op_name == "context_attention"
    table = table[~prefills | ((table.attn_dtype == "bfloat16") & (table.step.fillna(0) == 0))]
    prefills = table.op_name == "context_attention"
    own = table.num_key_value_heads.where(table.num_key_value_heads > 0, table.num_heads)
    return table.assign(
        format=table.kv_cache_dtype.map(FORMATS),
        width=table.head_dim,
        sequences=table.batch_size,
        key_heads=own,
        group=table.num_heads // own,
        keys=table.isl.where(prefills, table.step + 1),
    )


def _latent(table: pd.DataFrame) -> pd.DataFrame:
    decodes = table.op_name == "mla_generation"
    table = table[decodes | (table.step.fillna(0) == 0)]
    return table.assign(
        format=table.kv_cache_dtype.map(FORMATS),
        sequences=table.batch_size,
        heads=table.num_heads,
        keys=table.isl + table.step.fillna(0),
    )


def _experts(table: pd.DataFrame) -> pd.DataFrame:
    table = table[table.distribution == SKEW]
    return table.assign(
        format=table.moe_dtype.map(FORMATS),
        rows=table.num_tokens * table.topk / table.num_experts,
        held=table.num_experts // table.moe_ep_size,
        hidden=table.hidden_size,
        inner=table.inter_size // table.moe_tp_size,
    )


_ALL = {"sequences": _SEQUENCES, "key_heads": [1, 8]}

SOURCES: dict[str, Source] = {
    "product": Source("gemm", "gemm", _products, {"m": _ROWS, "n": _EDGES, "k": _EDGES}),
    "attention_decode": Source(
        "attention",
        "generation_attention",
        _attention,
        {**_ALL, "group": [1, 4, 8, 16], "keys": _CACHED, "width": [64, 128, 256]},
    ),
    "attention_prefill": Source(
        "attention",
        "context_attention",
        _attention,
        {**_ALL, "group": [1, 8], "keys": _PROMPTS, "width": [64, 128, 256]},
    ),
    "latent_decode": Source(
        "mla",
        "generation_mla",
        _latent,
        {"sequences": _SEQUENCES, "heads": _HEADS, "keys": _CACHED},
    ),
    "latent_prefill": Source(
        "mla",
        "context_mla",
        _latent,
        {"sequences": _SEQUENCES, "heads": _HEADS, "keys": _PROMPTS},
    ),
    "experts": Source(
        "moe",
        "moe",
        _experts,
        {"num_tokens": _TOKENS, "moe_tp_size": [1, 2, 4, 8], "moe_ep_size": [1, 4, 16, 64]},
        helpers=("num_tokens", "moe_tp_size", "moe_ep_size"),
    ),
}
"""By the kinds of ``simcore.compute.tables``."""
