"""DeepSpeed: the JSON file of its engine.

Names and refusals of keys: DeepSpeed 0.19.8 (Apache-2.0). Its product of micro-batch, accumulation
and world is that of replicas: dp.
"""

import json
from typing import Any, ClassVar

from dse.launch.base import (
    Job,
    LaunchTool,
    PlanKeys,
    check_divisions,
    check_order,
    refuse,
    refuse_unless,
    refuse_updates,
)
from simcore import ConfigError, parse_json

_NAME = "DeepSpeed's file"


class DeepSpeed(LaunchTool):
    """A JSON file for ``--deepspeed_config``; the model and its recomputation are in code."""

    tool: ClassVar[str] = "DeepSpeed 0.19.8"
    file: ClassVar[str] = "deepspeed.json"

    def text(self, job: Job) -> str:
        plan, work = job.plan, job.training
        _check(job)
        zero: dict[str, Any] = {"stage": plan.zero_stage, "overlap_comm": plan.overlap_gradients}
        if plan.bucket_bytes:
            zero["reduce_bucket_size"] = max(1, int(plan.bucket_bytes // 2))
        table: dict[str, Any] = {
            "train_batch_size": work.global_batch,
            "train_micro_batch_size_per_gpu": plan.micro_batch,
            "gradient_accumulation_steps": job.microbatches,
            "zero_optimization": zero,
            "bf16": {"enabled": str(work.precision) == "bf16"},
            "fp16": {"enabled": str(work.precision) == "fp16"},
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
        }
        if plan.tp > 1:
            table["tensor_parallel"] = {"autotp_size": plan.tp}
        if plan.cp > 1:
            table["sequence_parallel_size"] = plan.cp
        return json.dumps(table, indent=2) + "\n"

    def plan(self, text: str) -> PlanKeys:
        table = parse_json(text, self.file)
        if not isinstance(table, dict) or "train_batch_size" not in table:
            raise ConfigError(self.file, "must be a file of DeepSpeed's engine", got=None)
        micro, steps = (
            table["train_micro_batch_size_per_gpu"],
            table["gradient_accumulation_steps"],
        )
        zero = table["zero_optimization"]
        return {
            "tp": table.get("tensor_parallel", {}).get("autotp_size", 1),
            "pp": 1,
            "cp": table.get("sequence_parallel_size", 1),
            "dp": table["train_batch_size"] // (micro * steps),
            "micro_batch": micro,
            "global_batch": table["train_batch_size"],
            "zero_stage": zero["stage"],
            "overlap_gradients": zero["overlap_comm"],
        }


def _check(job: Job) -> None:
    plan, work = job.plan, job.training
    refuse_updates(job, _NAME)
    allowed: dict[str, Any] = {
        "pp": (1,),
        "ep": (1,),
        "shard": (None, plan.gradient_replicas),
        "recompute_parts": ((),),
        "reshard": (True,),
    }
    if plan.pp > 1:
        refuse("plan.pp", f"must be 1 for {_NAME}: stages are built in code", plan.pp)
    if plan.ep > 1:
        refuse("plan.ep", f"must be 1 for {_NAME}: experts are built in code", plan.ep)
    if plan.recompute == "full" or (plan.recompute == "selective" and not plan.flash_attention):
        rule = f"must be none for {_NAME}, or selective with flash_attention: code asks for more"
        refuse("plan.recompute", rule, plan.recompute)
    if plan.cp > 1 and plan.cp_kind != "ulysses":
        refuse("plan.cp_kind", f"must be ulysses for {_NAME}", plan.cp_kind)
    if plan.tp > 1 and plan.zero_stage == 3:
        refuse("plan.zero_stage", f"must be below 3 with tp for {_NAME}", 3)
    if plan.splits_sequence:
        refuse("plan.sequence_parallel", f"must be false for {_NAME}", True)
    if plan.overlap_tensor:
        refuse("plan.overlap_tensor", f"must be false for {_NAME}", True)
    refuse_unless(_NAME, plan, allowed)
    check_divisions(job, _NAME)
    check_order(job, _NAME, ("tp", "cp", "ep", "dp", "pp"))
    if str(work.precision) not in ("bf16", "fp16", "fp32"):
        refuse("workload.precision", f"must be bf16, fp16 or fp32 for {_NAME}", work.precision)
    if work.optimizer != "adam":
        refuse("workload.optimizer", f"must be adam for {_NAME}", work.optimizer)
