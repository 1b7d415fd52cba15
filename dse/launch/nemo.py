"""NeMo: an override file of a Megatron-Bridge recipe.

Names of keys: NVIDIA Megatron-Bridge, commit 067f987df (Apache-2.0), ``ConfigContainer`` and the
model configuration of Megatron Core, whose checks are those of Megatron-LM.
"""

from typing import Any, ClassVar

from dse.launch.base import Job, LaunchTool, PlanKeys, head, is_even, refuse
from dse.launch.megatron import check_megatron
from dse.launch.megatron_parts import (
    data_flags,
    number_flags,
    pipeline_flags,
    read_pipeline,
    read_recompute,
    recompute_flags,
)
from dse.launch.tables import lines_of, read_lines

_CP_KINDS = {"ring": "p2p", "all_gather": "all_gather", "ulysses": "a2a"}
_NAME = "Megatron-Bridge"


class Nemo(LaunchTool):
    """A YAML file of overrides for a recipe's ``ConfigContainer``."""

    tool: ClassVar[str] = "NeMo (Megatron-Bridge, commit 067f987df)"
    file: ClassVar[str] = "nemo.yaml"

    def text(self, job: Job) -> str:
        plan, work = job.plan, job.training
        if check_megatron(job):
            rule = f"must be tp-cp-ep-dp-pp for {_NAME}: no key for others is written here"
            refuse("plan.order", rule, "-".join(plan.order))
        data_flags(job), number_flags(job)  # what Megatron-LM refuses is refused here
        if plan.zero_stage > 1:
            rule = f"must be 0 or 1 for {_NAME}: keys for more are not written here"
            refuse("plan.zero_stage", rule, plan.zero_stage)
        tables: dict[str, Any] = {
            "mixed_precision": _mixed_precision(job),
            "model": _model(job),
            "train": {
                "micro_batch_size": plan.micro_batch,
                "global_batch_size": work.global_batch,
            },
            "ddp": {
                "use_distributed_optimizer": plan.zero_stage > 0,
                "num_distributed_optimizer_instances": plan.shard_copies if plan.zero_stage else 1,
                "overlap_grad_reduce": plan.overlap_gradients,
                "overlap_param_gather": plan.overlap_weights,
            },
        }
        return "\n".join([*head(job, self), *lines_of(tables)]) + "\n"

    def plan(self, text: str) -> PlanKeys:
        tables = read_lines(text, self.file)
        model, train, ddp = tables["model"], tables["train"], tables["ddp"]
        kinds = {name: kind for kind, name in _CP_KINDS.items()}
        flags: dict[str, list[str]] = {
            "--pipeline-model-parallel-size": [str(model["pipeline_model_parallel_size"])]
        }
        for key, name in _READ.items():
            value = model.get(key)
            if value is not None and value is not False:
                values = value if isinstance(value, list) else [value]
                flags[name] = [] if value is True else [str(one) for one in values]
        virtual = model.get("virtual_pipeline_model_parallel_size")
        keys = {**read_pipeline(flags), **read_recompute(flags)}
        return {
            "tp": model["tensor_model_parallel_size"],
            "pp": model["pipeline_model_parallel_size"],
            "cp": model["context_parallel_size"],
            "cp_kind": kinds[model.get("cp_comm_type", "p2p")],
            "ep": model["expert_model_parallel_size"],
            "etp": model["expert_tensor_parallel_size"],
            "sequence_parallel": model["sequence_parallel"],
            "micro_batch": train["micro_batch_size"],
            "global_batch": train["global_batch_size"],
            "zero_stage": int(ddp["use_distributed_optimizer"]),
            "overlap_gradients": ddp["overlap_grad_reduce"],
            "overlap_weights": ddp["overlap_param_gather"],
            **keys,
            **({"interleave": virtual} if virtual else {}),
        }


_READ = {
    "pipeline_model_parallel_layout": "--pipeline-model-parallel-layout",
    "overlap_moe_expert_parallel_comm": "--overlap-moe-expert-parallel-comm",
    "microbatch_group_size_per_vp_stage": "--microbatch-group-size-per-virtual-pipeline-stage",
    "recompute_granularity": "--recompute-granularity",
    "recompute_method": "--recompute-method",
    "recompute_num_layers": "--recompute-num-layers",
    "recompute_modules": "--recompute-modules",
}
"""Keys of the model, and options of Megatron-LM that mean the same."""


_GRADIENTS = {"bf16": "fp32", "fp16": "fp16"}
"""Formats of numbers, and in which gradients are summed under the precision of their name."""


def _mixed_precision(job: Job) -> str:
    """Name of a precision, which sets formats of weights and gradients and goes before ``ddp``.

    Raises:
        ConfigError: No name stands for these formats.
    """
    work = job.training
    precision, gradients = str(work.precision), str(work.gradient_format)
    if precision not in _GRADIENTS:
        refuse("workload.precision", f"must be bf16 or fp16 for {_NAME}", precision)
    if gradients != _GRADIENTS[precision]:
        rule = f"must be {_GRADIENTS[precision]} with {precision} for {_NAME}, as its recipes have"
        refuse("workload.gradient_format", rule, gradients)
    return f"{precision}_mixed"


def _model(job: Job) -> dict[str, Any]:
    plan = job.plan
    found: dict[str, Any] = {
        "seq_length": job.training.sequence,
        "tensor_model_parallel_size": plan.tp,
        "pipeline_model_parallel_size": plan.pp,
        "context_parallel_size": plan.cp,
        "expert_model_parallel_size": plan.ep,
        "expert_tensor_parallel_size": plan.expert_tp if job.model.experts else 1,
        "sequence_parallel": plan.splits_sequence,
        "tp_comm_overlap": plan.overlap_tensor,
    }
    if plan.cp > 1:
        found["cp_comm_type"] = _CP_KINDS[plan.cp_kind]
    given = {name: values for name, *values in [*pipeline_flags(job), *recompute_flags(job)]}
    for key, name in _READ.items():
        values = given.get(name)
        if values is None:
            continue
        told = [int(one) if one.isdecimal() else one for one in values]
        found[key] = told if key == "recompute_modules" else told[0] if told else True
    if plan.interleave > 1 and is_even(job):
        found["virtual_pipeline_model_parallel_size"] = plan.interleave
    return found
