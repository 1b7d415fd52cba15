"""Runs that are known to have run fit, and those that are known not to are refused."""

import csv
from pathlib import Path
from typing import Any

import pytest

from simcore.errors import SimcoreError
from simcore.memory.footprint import footprint
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.rows import MeasuredRow
from simcore.workload import Model, ParallelPlan, TrainingWorkload, load_workload

ROWS = Path(__file__).resolve().parents[3] / "shared" / "golden" / "hardware" / "llm_training.csv"

# Korthikanti et al., MLSys 2023, table 3: heads, hidden, layers, pp, chunks of a stage,
# micro-batch, batch; t = 8, s = 2048, v = 51200, on A100 with 80 GB. Figure 1: each exceeds that
# memory as it was before, and fits with sequence parallelism and selective recompute.
PUBLISHED = {
    "22B": (64, 6144, 48, 1, 1, 4, 4),
    "175B": (96, 12288, 96, 8, 3, 1, 64),
    "530B": (128, 20480, 105, 35, 3, 1, 280),
    "1T": (160, 25600, 128, 64, 1, 1, 512),
}


def held_gb(name: str, **choices: Any) -> float:
    heads, hidden, layers, pp, chunks, micro_batch, batch = PUBLISHED[name]
    model = Model(
        name=name, layers=layers, hidden=hidden, heads=heads, ffn=4 * hidden, vocabulary=51200,
        tied_embeddings=True,
    )  # fmt: skip
    job = TrainingWorkload(model=model, sequence=2048, global_batch=batch, precision="fp16")
    plan = ParallelPlan(
        tp=8, pp=pp, interleave=chunks, micro_batch=micro_batch, flash_attention=False, **choices
    )
    return footprint(job, plan).total_bytes / 1e9


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_runs_of_korthikanti_fit_only_with_what_the_paper_adds(name: str) -> None:
    assert held_gb(name) > 80
    assert held_gb(name, sequence_parallel=True, recompute="selective") < 80


@pytest.mark.skipif(not ROWS.is_file(), reason=f"{ROWS} is not there")
def test_measured_runs_are_admitted_and_many_would_not_be_on_half_of_the_memory() -> None:
    machines, fills = Machines(), []
    for row in MeasuredRow.all_of(ROWS):
        try:
            run = run_of(row, machines)
        except SimcoreError:
            continue
        fills.append(footprint(run.workload, run.plan).total_bytes / run.platform.npu.memory_bytes)
    refused, told = (sum(fill > part for fill in fills) / len(fills) for part in (1.0, 0.5))
    assert len(fills) > 1500
    assert refused <= 0.03
    assert told > 0.3


MODELS = ROWS.parents[1] / "models" / "truth.csv"
SHIPPED = {
    "llama3_8b": "llama-3.1-8b",
    "llama3_70b": "llama-3.1-70b",
    "llama3_405b": "llama-3.1-405b",
    "qwen3_32b": "qwen3-32b",
    "qwen3_30b_a3b": "qwen3-30b-a3b",
    "mixtral_8x7b": "mixtral-8x7b",
    "deepseek_v3": "deepseek-v3",
    "kimi_k2": "kimi-k2",
    "gpt_oss_20b": "gpt-oss-20b",
    "gpt_oss_120b": "gpt-oss-120b",
}
"""Names of shipped models, and those that they have in the table of counted ones."""


@pytest.mark.skipif(not MODELS.is_file(), reason=f"{MODELS} is not there")
@pytest.mark.parametrize("name", SHIPPED)
def test_weights_and_cache_take_the_bytes_that_were_counted(name: str) -> None:
    with MODELS.open(encoding="utf-8", newline="") as file:
        truth = {row["model"]: row for row in csv.DictReader(file)}[SHIPPED[name]]
    tokens, sequences = 4096, 3
    table = {"kind": "inference", "model": name, "step": "decode", "sequence": tokens}
    job = load_workload({**table, "global_batch": sequences})
    stage = footprint(job, ParallelPlan(micro_batch=sequences, schedule="forward")).stages[0]
    assert stage.weights_bytes == pytest.approx(2 * int(truth["total_parameters"]), rel=0.002)
    whole, latent, sliding = (
        int(truth[f"kv_bytes_per_token_{kind}"] or 0) for kind in ("full", "latent", "sliding")
    )
    window = min(tokens, int(truth["windows"] or 0))
    assert stage.cache_bytes == sequences * (tokens * (whole + latent) + window * sliding)
