"""Training iterations and kernels that were measured on one accelerator, and their predictions.

The rows stand in ``tests/golden/one_accelerator``, whose README tells how they were measured.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simcore.config import Run, load_run
from simcore.simulation import simulate_run
from simcore.validation import prediction_band
from simcore.workload.graph import Kernel

TABLES = Path(__file__).parents[1] / "golden" / "one_accelerator"
STACKS = {"eager": "pytorch_fsdp1", "compiled": "pytorch_fsdp2"}
"""The nearest shipped software of each mode."""
PHASES = ("forward", "backward", "optimizer")

_FREE = {"topology": "switch", "npus": 2, "bandwidth": "1000000 GB/s", "latency": "1 ns"}
"""A run has two accelerators at least: two replicas whose gradients are summed in no time."""
_NATIVE: dict[str, Any] = {
    "topology": "switch",
    "npus": 2,
    "bandwidth": "native",
    "latency": "native",
    "efficiency": "native",
}
"""The link of measured runs, which the band looks at."""

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Prediction of one measured iteration.

    Attributes:
        whole_s: Of the iteration.
        phases_s: Of its ``PHASES``; what is computed again counts as backward.
        low_s, high_s: Ends of the band.
        tensors_bytes: Memory of the tensors alone.
        states_bytes: Of these, weights, sums of gradients and state of the optimizer.
        weights_bytes: Likewise, weights.
    """

    whole_s: float
    phases_s: Mapping[str, float]
    low_s: float
    high_s: float
    tensors_bytes: float
    states_bytes: float
    weights_bytes: float


def rows_of(name: str) -> list[Row]:
    """Rows of the table *name*, the first of those that were measured twice."""
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["again"] != "True"]


def run_of(row: Row, stack: str = "", *, band: bool = False, compute: str = "") -> Run:
    """The run of a measured iteration.

    Args:
        row: Of the table ``iterations``.
        stack: Software; by default the nearest of its mode.
        band: With the link that bands know, in place of one that takes no time.
        compute: Compute model; by default that of training.
    """
    sizes = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary")
    model: dict[str, Any] = {key: int(row[key]) for key in sizes}
    model |= {"name": "measured", "kind": row["kind"], "dropout": False}
    sequence, micro_batch = int(row["sequence"]), int(row["micro_batch"])
    if row["kind"] == "gpt":
        model["vectors"] = {"positions": sequence * model["hidden"]}
    table: dict[str, Any] = {
        "version": 1,
        "workload": {
            "model": model,
            "sequence": sequence,
            "precision": "bf16",
            "global_batch": 2 * micro_batch * int(row["accumulated"]),
        },
        "platform": {"npu": row["npu"], "dimensions": [_NATIVE if band else _FREE]},
        "plan": {
            "dp": 2,
            "micro_batch": micro_batch,
            "recompute": "full" if row["recompute"] == "True" else "none",
        },
        "stack": stack or STACKS[row["mode"]],
    }
    return load_run(table | ({"compute": compute} if compute else {}))


def predict(row: Row, stack: str = "", compute: str = "") -> Predicted:
    """Prediction of a measured iteration; arguments as of ``run_of``."""
    result = simulate_run(run_of(row, stack, compute=compute))
    (stage,) = result.stages
    own = dict(stage.compute_s)
    own["backward"] += own.pop("recompute", 0.0)
    low_s, high_s = prediction_band(run_of(row, stack, band=True)).of(result.iteration_time_s)
    held = result.footprint.components()
    return Predicted(
        whole_s=result.iteration_time_s,
        phases_s={phase: own[phase] for phase in PHASES},
        low_s=low_s,
        high_s=high_s,
        tensors_bytes=result.footprint_bytes,
        states_bytes=held["weights"] + held["gradients"] + held["optimizer"],
        weights_bytes=held["weights"],
    )


@cache
def iterations() -> tuple[tuple[Row, Predicted], ...]:
    """Measured iterations with their predictions, each with the nearest software."""
    return tuple([(row, predict(row)) for row in rows_of("iterations")])


def product_of(row: Row) -> Kernel:
    """The product of a row of the table ``kernels``, as the simulator writes it."""
    m, n, k = (int(row[key]) for key in "mnk")
    moved = 2.0 * (m * k + k * n + m * n)
    if row["piece"] == "weight gradient":
        m, n, k = k, n, m
    flop = 2.0 * m * n * k
    return Kernel(
        name="measured", kind="gemm", flop=flop, bytes=moved, m=m, n=n, k=k, format="bf16"
    )


def attention_of(row: Row, *, backward: bool = False) -> Kernel:
    """The attention core of a row of the table ``kernels``; causal."""
    sequences, heads, key_heads, tokens, width = (
        int(row[key]) for key in ("b", "heads", "kv_heads", "s", "d")
    )
    flop = 2.0 * sequences * heads * tokens * tokens * width * (2.5 if backward else 1.0)
    return Kernel(
        name="attention core gradient" if backward else "attention core",
        kind="attention",
        flop=flop,
        bytes=4.0 * sequences * tokens * width * (heads + key_heads) * (2 if backward else 1),
        m=tokens,
        n=tokens,
        k=width,
        groups=sequences,
        heads=heads,
        key_heads=key_heads,
        format="bf16",
    )
