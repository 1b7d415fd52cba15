"""Predictions of what was measured on one accelerator."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from benchmarks.one_accelerator.cases import Case
from simcore.config import Run, load_run
from simcore.result import IterationResult
from simcore.simulation import simulate_run
from simcore.validation import prediction_band

STACKS = {"eager": "pytorch_fsdp1", "compiled": "pytorch_fsdp2"}
"""The nearest stack of each mode."""

FREE_LINK = {"topology": "switch", "npus": 2, "bandwidth": "1000000 GB/s", "latency": "1 ns"}
"""A run has two accelerators at least: two replicas whose sum of gradients takes no time."""
REAL_LINK = {
    "topology": "switch",
    "npus": 2,
    "bandwidth": "native",
    "latency": "native",
    "efficiency": "native",
}
"""The link of measured runs, for the band alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What is predicted of one case.

    Attributes:
        whole_s, forward_s, backward_s, optimizer_s: Of an iteration; what is repeated counts as
            backward.
        footprint_bytes: Of the tensors alone.
        needed_bytes: With workspace and what fragments waste, but without context and buffers of
            communication, which an allocator does not see.
        low, high: Ends of the band over the time.
    """

    whole_s: float
    forward_s: float
    backward_s: float
    optimizer_s: float
    footprint_bytes: float
    needed_bytes: float
    low: float
    high: float
    parts: Mapping[str, int]


def case_of(row: Mapping[str, Any]) -> Case:
    """The case of a measured *row*."""
    return Case(**{one.name: row[one.name] for one in fields(Case)})


def run_of(case: Case, npu: str, stack: str = "", link: Mapping[str, Any] = FREE_LINK, **choices: Any) -> Run:
    """The run of *case* on *npu*; *stack*: the software, by default the nearest."""
    vectors = {"positions": case.sequence * case.hidden} if case.kind == "gpt" else None
    model = {
        "name": case.name, "kind": case.kind, "layers": case.layers, "hidden": case.hidden,
        "heads": case.heads, "kv_heads": case.kv_heads, "ffn": case.ffn,
        "vocabulary": case.vocabulary, "dropout": False,
    }  # fmt: skip
    if vectors:
        model["vectors"] = vectors
    plan = {
        "dp": 2, "micro_batch": case.micro_batch,
        "recompute": "full" if case.recompute else "none",
        **choices,
    }  # fmt: skip
    table = {
        "version": 1,
        "workload": {
            "model": model, "sequence": case.sequence, "precision": "bf16",
            "global_batch": 2 * case.micro_batch * case.accumulated,
        },
        "platform": {"npu": npu, "dimensions": [link]},
        "plan": plan,
        "stack": stack or STACKS[case.mode],
    }  # fmt: skip
    return load_run(table)


def predict(case: Case, npu: str, stack: str = "", **choices: Any) -> Predicted:
    """Prediction of *case*."""
    run = run_of(case, npu, stack, **choices)
    result = simulate_run(run)
    (stage,) = result.stages
    own = stage.compute_s
    band = prediction_band(run_of(case, npu, stack, REAL_LINK, **choices))
    low, high = band.of(result.iteration_time_s)
    return Predicted(
        whole_s=result.iteration_time_s,
        forward_s=own.get("forward", 0.0),
        backward_s=own.get("backward", 0.0) + own.get("recompute", 0.0),
        optimizer_s=own.get("optimizer", 0.0),
        footprint_bytes=result.footprint_bytes,
        needed_bytes=_needed(result),
        low=low / result.iteration_time_s,
        high=high / result.iteration_time_s,
        parts=result.footprint.components(),
    )


def _needed(result: IterationResult) -> float:
    tensors = result.footprint_bytes + result.runtime.workspace_bytes
    return tensors * (1 + result.runtime.reserve)
