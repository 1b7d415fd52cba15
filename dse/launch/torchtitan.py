"""torchtitan: its trainer and the options of ``ConfigManager``.

Names and refusals of options: torchtitan 0.3.0 (BSD-3-Clause).
"""

from typing import ClassVar

from dse.launch.base import (
    Job,
    LaunchTool,
    PlanKeys,
    check_divisions,
    check_model,
    check_order,
    head,
    is_even,
    refuse,
    refuse_unless,
    refuse_updates,
)
from dse.launch.script import Flags, number, options, script

_CALL = "-m torchtitan.train"
_NAME = "torchtitan"
_RECOMPUTE = ("none", "selective", "full")
_SCHEDULES = {("1f1b", False): "1F1B", ("1f1b", True): "Interleaved1F1B", ("gpipe", False): "GPipe"}
_FORMATS = {"bf16": "bfloat16", "fp32": "float32"}
_P = "--parallelism."


class TorchTitan(LaunchTool):
    """A script that starts torchtitan's trainer."""

    tool: ClassVar[str] = "torchtitan 0.3.0"
    file: ClassVar[str] = "torchtitan.sh"

    def text(self, job: Job) -> str:
        plan = job.plan
        _check(job)
        flags: Flags = [
            # the model is part of a config: this one stands in for it
            ("--module", "llama3"),
            ("--config", "llama3_8b"),
            (f"{_P}tensor_parallel_degree", str(plan.tp)),
            (f"{_P}pipeline_parallel_degree", str(plan.pp)),
            (f"{_P}context_parallel_degree", str(plan.cp)),
            (f"{_P}expert_parallel_degree", str(plan.ep)),
            *_replicas(job),
            *_batch(job),
            *_pipeline(job),
            *_formats(job),
        ]
        if plan.tp > 1 and not plan.sequence_parallel:
            flags.append((f"{_P}no-enable-sequence-parallel",))
        if plan.overlap_tensor:
            flags += [("--compile.enable",), ("--compile.enable_async_tensor_parallel",)]
        setup = [
            f"# Set --module and --config to a config of {job.model.name}: a config holds the",
            "# model, and options cannot change its sizes. The one below stands in for it.",
            'GPUS_PER_NODE="${GPUS_PER_NODE:-8}"',
            f'NNODES="${{NNODES:-$(( ({plan.npus} + GPUS_PER_NODE - 1) / GPUS_PER_NODE ))}}"',
        ]
        call = 'torchrun --nproc-per-node "$GPUS_PER_NODE" --nnodes "$NNODES" '
        whole = script(head(job, self), setup, call + _CALL, flags)
        return f"{whole.rstrip()} \\\n    activation-checkpoint:{plan.recompute}\n"

    def plan(self, text: str) -> PlanKeys:
        found = options(text, _CALL)
        pp = number(found, f"{_P}pipeline_parallel_degree")
        cp = number(found, f"{_P}context_parallel_degree")
        shard = number(found, f"{_P}data_parallel_shard_degree")
        copies = number(found, f"{_P}data_parallel_replicate_degree")
        reshard = found.get(f"{_P}fsdp_reshard_after_forward", [""])[0]
        micro = (
            f"{_P}pipeline_parallel_microbatch_size" if pp > 1 else "--training.local_batch_size"
        )
        names = {name: key for key, name in _SCHEDULES.items()}
        name = found.get(f"{_P}pipeline_parallel_schedule", ["1F1B"])[0]
        *_, last = (word for values in found.values() for word in values)
        return {
            "tp": number(found, f"{_P}tensor_parallel_degree"),
            "pp": pp,
            "cp": cp,
            "ep": number(found, f"{_P}expert_parallel_degree"),
            "dp": shard * copies,
            "shard": shard * cp,
            "micro_batch": number(found, micro),
            "global_batch": number(found, "--training.global_batch_size"),
            "sequence_parallel": f"{_P}no-enable-sequence-parallel" not in found,
            "zero_stage": {"always": 3, "never": 2}.get(reshard, 0),
            "schedule": names[name][0],
            "recompute": last.removeprefix("activation-checkpoint:"),
        }


def _check(job: Job) -> None:
    plan = job.plan
    check_model(job, _NAME, able=("experts", "latent", "window"))
    refuse_updates(job, _NAME)
    refuse_unless(
        _NAME,
        plan,
        {
            "schedule": ("1f1b", "gpipe"),
            "zero_stage": (0, 2, 3),
            "dispatch_group": (None,),
            "recompute_layers": (None,),
            "recompute_every": (1,),
            "recompute_parts": ((),),
            "interleave_group": (None, plan.pp),
            "reshard": (True,),
            "scatter_each": (True,),
        },
    )
    check_divisions(job, _NAME)
    check_order(job, _NAME, ("tp", "cp", "ep", "dp", "pp"))
    if plan.cp > 1 and plan.cp_kind == "ulysses":
        refuse("plan.cp_kind", f"must be all_gather or ring for {_NAME}", plan.cp_kind)
    if job.model.experts and plan.ep > 1 and plan.expert_tp > 1:
        rule = f"must be 1 for {_NAME}, whose ep takes NPUs of tp too"
        refuse("plan.etp", rule, plan.expert_tp)
    if job.training.sequence % (plan.tp * 2 * plan.cp) and plan.cp > 1:
        rule = f"must be a multiple of 2 tp cp = {2 * plan.tp * plan.cp} for {_NAME}"
        refuse("workload.sequence", rule, job.training.sequence)
    if plan.zero_stage and plan.shard_npus % plan.cp:
        refuse("plan.shard", f"must be a multiple of cp for {_NAME}", plan.shard_npus)
    if job.training.optimizer != "adam":
        refuse("workload.optimizer", f"must be adam for {_NAME}", job.training.optimizer)


def _replicas(job: Job) -> Flags:
    plan = job.plan
    shard = plan.shard_npus // plan.cp if plan.zero_stage else 1
    flags: Flags = [
        (f"{_P}data_parallel_shard_degree", str(shard)),
        (f"{_P}data_parallel_replicate_degree", str(plan.dp // shard)),
    ]
    if plan.zero_stage == 0 and plan.tp * plan.cp > 1 and plan.dp > 1 and job.model.experts:
        rule = f"must be 2 or 3 with experts, tp or cp for {_NAME}, which shards their replicas"
        refuse("plan.zero_stage", rule, 0)
    if plan.zero_stage:
        reshard = "always" if plan.zero_stage == 3 else "never"
        flags.append((f"{_P}fsdp_reshard_after_forward", reshard))
    return flags


def _batch(job: Job) -> Flags:
    plan = job.plan
    local = plan.micro_batch * (job.microbatches if plan.pp > 1 else 1)
    flags: Flags = [
        ("--training.local_batch_size", str(local)),
        ("--training.global_batch_size", str(job.training.global_batch)),
        ("--training.seq_len", str(job.training.sequence)),
    ]
    if plan.pp > 1:
        flags.append((f"{_P}pipeline_parallel_microbatch_size", str(plan.micro_batch)))
    return flags


def _pipeline(job: Job) -> Flags:
    plan = job.plan
    if plan.pp == 1:
        return []
    key = (plan.schedule, plan.interleave > 1)
    if key not in _SCHEDULES:
        rule = f"must be 1 with {plan.schedule} for {_NAME}"
        refuse("plan.interleave", rule, plan.interleave)
    flags: Flags = [
        (f"{_P}pipeline_parallel_schedule", _SCHEDULES[key]),
        # chunks have whole layers; the tables at both ends count as none
        (f"{_P}pipeline_parallel_first_stage_less_layers", "0"),
        (f"{_P}pipeline_parallel_last_stage_less_layers", "0"),
        ("--training.disable_cuda_graphs",),
    ]
    if not is_even(job):
        key_name = "plan.chunk_layers" if plan.chunk_layers else "plan.pp"
        got = plan.chunk_layers or plan.pp
        refuse(key_name, f"must make chunks of equally many layers for {_NAME}", got)
    layers = job.model.layers // (plan.pp * plan.interleave)
    flags.append((f"{_P}pipeline_parallel_layers_per_stage", str(layers)))
    if plan.interleave > 1 and job.microbatches % plan.pp:
        rule = f"must leave a multiple of pp micro-batches for {_NAME}"
        refuse("plan.interleave", rule, plan.interleave)
    return flags


def _formats(job: Job) -> Flags:
    work = job.training
    precision = str(work.precision)
    if precision not in _FORMATS:
        rule = f"must be {' or '.join(_FORMATS)} for {_NAME}: options for more are not written here"
        refuse("workload.precision", rule, precision)
    if work.gradient_format not in _FORMATS:
        refuse(
            "workload.gradient_format", f"must be fp32 or bf16 for {_NAME}", work.gradient_format
        )
    for key, usual in (("moment_format", "fp32"), ("weight_format", None), ("kept_format", None)):
        if getattr(work, key) != usual:
            refuse(f"workload.{key}", f"must be left out for {_NAME}", getattr(work, key))
    return [
        ("--training.mixed_precision_param", _FORMATS[precision]),
        ("--training.mixed_precision_reduce", _FORMATS[work.gradient_format]),
    ]
