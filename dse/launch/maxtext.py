"""MaxText: a configuration file over its ``base.yml``.

Names of keys: MaxText, commit e591f30cbb (Apache-2.0), ``configs/base.yml`` and ``types.py``; read,
not run.
"""

from math import gcd
from typing import Any, ClassVar

from dse.launch.base import (
    Job,
    LaunchTool,
    PlanKeys,
    check_divisions,
    check_model,
    head,
    is_even,
    refuse,
    refuse_unless,
    refuse_updates,
)
from dse.launch.tables import lines_of, read_lines

_NAME = "MaxText"
_AXES = ("data", "fsdp", "tensor", "tensor_sequence", "pipeline", "context", "expert")
_OUTER = ("data", "pipeline", "fsdp")
"""Axes that may leave a slice, the one that goes first before others."""
_FORMATS = {"bf16": "bfloat16", "fp32": "float32"}


class MaxText(LaunchTool):
    """A YAML file for MaxText's trainer, beside its ``base.yml``."""

    tool: ClassVar[str] = "MaxText, commit e591f30cbb"
    file: ClassVar[str] = "maxtext.yml"

    def text(self, job: Job) -> str:
        _check(job)
        plan, work = job.plan, job.training
        steps = 1 if plan.pp > 1 else job.microbatches
        table: dict[str, Any] = {
            "base_config": "base.yml",
            **_model(job),
            **_mesh(job),
            "shard_optimizer_over_data": plan.zero_stage == 1,
            "context_parallel_strategy": plan.cp_kind,
            "per_device_batch_size": work.global_batch / (plan.npus * steps),
            "gradient_accumulation_steps": steps,
            "max_target_length": work.sequence,
            "remat_policy": {"none": "minimal", "full": "full"}[plan.recompute],
            "dtype": _FORMATS[str(work.precision)],
            "grad_dtype": _FORMATS[work.gradient_format],
        }
        if plan.pp > 1:
            table["num_layers_per_pipeline_stage"] = job.model.layers // (plan.pp * plan.interleave)
            table["num_pipeline_repeats"] = plan.interleave
            table["num_pipeline_microbatches"] = job.microbatches
        return "\n".join([*head(job, self), *lines_of(table)]) + "\n"

    def plan(self, text: str) -> PlanKeys:
        table = read_lines(text, self.file)
        sizes = {axis: table[f"ici_{axis}_parallelism"] for axis in _AXES}
        for axis in _AXES:
            sizes[axis] *= table[f"dcn_{axis}_parallelism"]
        devices = 1
        for size in sizes.values():
            devices *= size
        batch = table["per_device_batch_size"] * table["gradient_accumulation_steps"] * devices
        pp, ep = sizes["pipeline"], sizes["expert"]
        dp = sizes["data"] * sizes["fsdp"] * ep
        count = table.get("num_pipeline_microbatches", table["gradient_accumulation_steps"])
        return {
            "tp": sizes["tensor"] * sizes["tensor_sequence"],
            "sequence_parallel": sizes["tensor_sequence"] > 1,
            "pp": pp,
            "cp": sizes["context"],
            "cp_kind": table["context_parallel_strategy"],
            "ep": ep,
            "dp": dp,
            "zero_stage": 3 if sizes["fsdp"] > 1 else int(table["shard_optimizer_over_data"]),
            "micro_batch": round(batch / (dp * count)),
            "global_batch": round(batch),
            "interleave": table.get("num_pipeline_repeats", 1),
            "recompute": {"minimal": "none", "full": "full"}[table["remat_policy"]],
        }


def _check(job: Job) -> None:
    plan, work = job.plan, job.training
    check_model(job, _NAME, able=("experts",))
    refuse_updates(job, _NAME)
    allowed: dict[str, Any] = {
        "zero_stage": (0, 1, 3),
        "recompute": ("none", "full"),
        "recompute_layers": (None,),
        "recompute_every": (1,),
        "recompute_parts": ((),),
        "dispatch_group": (None,),
        "interleave_group": (None, plan.pp),
        "overlap_tensor": (False,),
    }
    if plan.pp > 1:
        allowed["schedule"] = ("gpipe",)
    refuse_unless(_NAME, plan, allowed)
    check_divisions(job, _NAME)
    if plan.pp > 1 and not is_even(job):
        rule = f"must make chunks of equally many layers for {_NAME}"
        refuse("plan.pp", rule, plan.pp)
    if plan.pp > 1 and job.microbatches % plan.pp:
        rule = f"must leave a multiple of pp micro-batches for {_NAME}, not {job.microbatches}"
        refuse("plan.pp", rule, plan.pp)
    if plan.ep > 1 and (plan.dp % plan.ep or plan.expert_tp != plan.tp):
        refuse("plan.ep", f"must divide dp, with etp as tp, for {_NAME}", plan.ep)
    if plan.zero_stage == 3 and plan.ep == plan.dp > 1:
        refuse("plan.zero_stage", f"must be below 3 with ep as dp for {_NAME}", 3)
    if plan.zero_stage == 1 and plan.shard not in (None, plan.gradient_replicas):
        refuse("plan.shard", f"must be left out with zero_stage 1 for {_NAME}", plan.shard)
    if str(work.precision) not in _FORMATS or work.gradient_format not in _FORMATS:
        refuse("workload.precision", f"must be bf16 or fp32 for {_NAME}", work.precision)
    if job.model.kind != "llama":
        rule = f"must be llama for {_NAME}: keys for others are not written here"
        refuse("workload.model.kind", rule, job.model.kind)


def _mesh(job: Job) -> dict[str, int]:
    """Devices along each axis within a slice (ici) and between slices (dcn)."""
    plan = job.plan
    replicas = plan.dp // plan.ep
    shard = replicas if plan.zero_stage == 3 else 1
    if plan.zero_stage == 3 and plan.shard:
        shard = gcd(replicas, max(1, plan.shard // (plan.cp * plan.ep)))
    sizes = dict.fromkeys(_AXES, 1) | {
        "data": replicas // shard,
        "fsdp": shard,
        "tensor_sequence" if plan.splits_sequence else "tensor": plan.tp,
        "pipeline": plan.pp,
        "context": plan.cp,
        "expert": plan.ep,
    }
    outer = dict.fromkeys(_AXES, 1)
    slices = -(-plan.npus // min(plan.npus, job.run.platform.npu.scale_up.npus))
    for axis in _OUTER:
        outer[axis] = gcd(sizes[axis], slices)
        sizes[axis] //= outer[axis]
        slices //= outer[axis]
    ici = {f"ici_{axis}_parallelism": size for axis, size in sizes.items()}
    return ici | {f"dcn_{axis}_parallelism": size for axis, size in outer.items()}


def _model(job: Job) -> dict[str, Any]:
    model = job.model
    found: dict[str, Any] = {
        "base_emb_dim": model.hidden,
        "base_num_query_heads": model.heads,
        "base_num_kv_heads": model.key_value_heads,
        "head_dim": model.head_width,
        "base_mlp_dim": model.ffn or (model.experts.ffn if model.experts else 0),
        "base_num_decoder_layers": model.layers,
        "vocab_size": model.vocabulary,
        "logits_via_embedding": model.tied_embeddings,
    }
    if model.experts:
        every = all("experts" in kind for kind in model.layer_kinds)
        if not every or model.experts.shared_ffn or model.experts.latent_width:
            rule = (
                f"must be in every layer, none shared, for {_NAME}: keys for more are not written"
            )
            refuse("workload.model.experts", rule, model.name)
        found |= {
            "decoder_block": "mixtral",
            "num_experts": model.experts.count,
            "num_experts_per_tok": model.experts.active,
            "base_moe_mlp_dim": model.experts.ffn,
        }
    return found
