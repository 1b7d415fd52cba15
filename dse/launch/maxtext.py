"""MaxText: a configuration file over its ``base.yml``.

Names of keys and what they shard: MaxText, commit e591f30cbb (Apache-2.0), ``configs/base.yml``,
``types.py`` and ``layers``.
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
    heads_vectors,
    is_even,
    refuse,
    refuse_unless,
    refuse_updates,
)
from dse.launch.tables import lines_of, read_lines
from simcore import Model

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
            "hardware": "tpu" if _is_tpu(job) else "gpu",
            **_model(job),
            **_mesh(job),
            **(_context(job) if plan.cp > 1 else {}),
            "shard_optimizer_over_data": plan.zero_stage == 1,
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
        sharded = sizes["fsdp"] * sizes["context"] * ep
        count = table.get("num_pipeline_microbatches", table["gradient_accumulation_steps"])
        return {
            "tp": sizes["tensor"] * sizes["tensor_sequence"],
            "sequence_parallel": sizes["tensor_sequence"] > 1,
            "pp": pp,
            "cp": sizes["context"],
            "cp_kind": table.get("context_parallel_strategy", "all_gather"),
            "ep": ep,
            "dp": dp,
            "zero_stage": 3 if sharded > 1 else int(table["shard_optimizer_over_data"]),
            "shard": sharded if sharded > 1 else dp,
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
    _check_shards(job)
    if plan.zero_stage == 1 and plan.shard not in (None, plan.gradient_replicas):
        refuse("plan.shard", f"must be left out with zero_stage 1 for {_NAME}", plan.shard)
    if str(work.precision) not in _FORMATS or work.gradient_format not in _FORMATS:
        refuse("workload.precision", f"must be bf16 or fp32 for {_NAME}", work.precision)
    if job.model.kind != "llama":
        rule = f"must be llama for {_NAME}: keys for others are not written here"
        refuse("workload.model.kind", rule, job.model.kind)


def _check_shards(job: Job) -> None:
    """Refuse weights that are whole on NPUs among which MaxText shards them.

    Its rules of axes name fsdp, context and expert for the widths of weights.
    """
    plan = job.plan
    joint = plan.cp * plan.ep
    if joint > 1 and plan.zero_stage != 3:
        rule = f"must be 3 with cp or ep for {_NAME}, which shards weights over their NPUs"
        refuse("plan.zero_stage", rule, plan.zero_stage)
    if plan.zero_stage == 3 and plan.shard_npus % joint:
        refuse("plan.shard", f"must be a multiple of cp ep = {joint} for {_NAME}", plan.shard)
    if plan.zero_stage == 3 and (plan.dp // plan.ep) % (plan.shard_npus // joint):
        rule = f"must be cp ep = {joint} times a divisor of dp / ep for {_NAME}"
        refuse("plan.shard", rule, plan.shard)


def _is_tpu(job: Job) -> bool:
    """True if the machine is made of TPUs, which have kernels of their own."""
    return "tpu" in job.run.platform.npu.name.lower()


def _context(job: Job) -> dict[str, Any]:
    """Keys of how a sequence is split; on TPUs with the kernels that this needs.

    Raises:
        ConfigError: The machine has none for it.
    """
    plan, sequence = job.plan, job.training.sequence
    found: dict[str, Any] = {"context_parallel_strategy": plan.cp_kind}
    if sequence % (2 * plan.cp):
        rule = f"must be a multiple of 2 cp = {2 * plan.cp} for {_NAME}"
        refuse("workload.sequence", rule, sequence)
    if not _is_tpu(job):
        if plan.cp_kind == "ulysses":
            rule = f"must be ring or all_gather for {_NAME} on other machines than TPUs"
            refuse("plan.cp_kind", rule, plan.cp_kind)
        return found
    if plan.cp_kind == "all_gather":
        return found
    if plan.cp_kind == "ring" and (plan.cp % 2 or sequence % plan.cp**2):
        rule = f"must be even, its square a divisor of the sequence ({sequence}) for {_NAME}"
        refuse("plan.cp", rule, plan.cp)
    if plan.cp_kind == "ulysses" and (job.model.key_value_heads // plan.tp) % plan.cp:
        rule = f"must divide the heads of keys of an NPU for ulysses in {_NAME}"
        refuse("plan.cp", rule, plan.cp)
    found |= {"attention": "flash", "use_tokamax_splash": True}
    if plan.cp_kind == "ulysses":
        found["context_parallel_load_balance"] = False
    return found


def _mesh(job: Job) -> dict[str, int]:
    """Devices along each axis within a slice (ici) and between slices (dcn)."""
    plan = job.plan
    replicas = plan.dp // plan.ep
    shard = plan.shard_npus // (plan.cp * plan.ep) if plan.zero_stage == 3 else 1
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
        **_vectors(model),
    }
    if model.experts:
        every = all("experts" in kind for kind in model.layer_kinds)
        if not every or model.experts.shared_ffn or model.experts.latent_width:
            rule = (
                f"must be in every layer, none shared, for {_NAME}: keys for more are not written"
            )
            refuse("workload.model.experts", rule, model.name)
        found |= {
            "decoder_block": "qwen3_moe" if "use_qk_norm" in found else "mixtral",
            "num_experts": model.experts.count,
            "num_experts_per_tok": model.experts.active,
            "base_moe_mlp_dim": model.experts.ffn,
        }
    return found


def _vectors(model: Model) -> dict[str, Any]:
    """Biases of queries, keys and values, or norms of their heads, and the block with them.

    Raises:
        ConfigError: The model has other vectors, or an MLP for which no key is written.
    """
    if model.mlp not in (None, "", "swiglu"):
        refuse("workload.model.mlp", f"must be swiglu for {_NAME}", model.mlp)
    given = heads_vectors(model, _NAME)
    if given == "biases" and model.experts:
        rule = f"must have no biases beside experts for {_NAME}"
        refuse("workload.model.vectors.attention", rule, model.name)
    return {
        "none": {},
        "biases": {"decoder_block": "qwen2", "attention_bias": True},
        "norms": {"decoder_block": "qwen3", "use_qk_norm": True},
    }[given]
