"""Megatron-LM: ``pretrain_gpt.py`` and its options.

Names, defaults and refusals of options: NVIDIA Megatron-LM, commit d98e8a64dd (Apache-2.0),
``megatron/training/arguments.py``.
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
    refuse,
    refuse_unless,
    refuse_updates,
)
from dse.launch.megatron_model import model_flags
from dse.launch.megatron_parts import (
    data_flags,
    number_flags,
    pipeline_flags,
    read_pipeline,
    read_recompute,
    recompute_flags,
)
from dse.launch.script import Flags, number, options, script

_CALL = "pretrain_gpt.py"
_NAME = "Megatron-LM"
_ORDERS = (("tp", "cp", "ep", "dp", "pp"), ("tp", "cp", "ep", "pp", "dp"))
_CP_KINDS = {"ring": "p2p", "all_gather": "all_gather", "ulysses": "a2a"}


class Megatron(LaunchTool):
    """A script that starts Megatron-LM's training of GPT models."""

    tool: ClassVar[str] = "Megatron-LM, commit d98e8a64dd"
    file: ClassVar[str] = "megatron.sh"

    def text(self, job: Job) -> str:
        plan = job.plan
        order = check_megatron(job)
        flags: Flags = [
            *degree_flags(job),
            *([("--use-tp-pp-dp-mapping",)] if order else []),
            *pipeline_flags(job),
            *recompute_flags(job),
            *data_flags(job),
            *number_flags(job),
            *model_flags(job),
            ("--tokenizer-type", "NullTokenizer"),
            ("--mock-data",),
            ("--train-iters", "100"),
            ("--lr", "1e-4"),
        ]
        many = "CUDA_DEVICE_MAX_CONNECTIONS"
        sets = f"unset {many}" if plan.zero_stage > 1 else f"export {many}=1"
        setup = [
            "# Data, tokenizer, learning rate and number of iterations are to be filled in. With",
            "# Transformer Engine take --no-rope-fusion away; on GPUs add --moe-grouped-gemm for",
            "# experts (the parser asks the GPU itself about it).",
            sets if job.plan.schedule == "1f1b" else f"export {many}=32",
            'GPUS_PER_NODE="${GPUS_PER_NODE:-8}"',
            f'NNODES="${{NNODES:-$(( ({plan.npus} + GPUS_PER_NODE - 1) / GPUS_PER_NODE ))}}"',
        ]
        call = 'torchrun --nproc-per-node "$GPUS_PER_NODE" --nnodes "$NNODES" '
        return script(head(job, self), setup, call + _CALL, flags)

    def plan(self, text: str) -> PlanKeys:
        found = options(text, _CALL)
        kinds = {name: kind for kind, name in _CP_KINDS.items()}
        optimizer = "--use-distributed-optimizer" in found
        sharding = found.get("--data-parallel-sharding-strategy", [""])[0]
        stage = {"optim_grads": 2, "optim_grads_params": 3}.get(sharding, int(optimizer))
        tp = number(found, "--tensor-model-parallel-size")
        return {
            "tp": tp,
            "pp": number(found, "--pipeline-model-parallel-size"),
            "cp": number(found, "--context-parallel-size"),
            "cp_kind": kinds[found.get("--cp-comm-type", ["p2p"])[0]],
            "ep": number(found, "--expert-model-parallel-size"),
            "etp": number(found, "--expert-tensor-parallel-size", tp),
            "micro_batch": number(found, "--micro-batch-size"),
            "global_batch": number(found, "--global-batch-size"),
            "sequence_parallel": "--sequence-parallel" in found,
            "zero_stage": stage,
            **read_pipeline(found),
            **read_recompute(found),
            "overlap_gradients": "--overlap-grad-reduce" in found,
            "overlap_weights": "--overlap-param-gather" in found,
            "overlap_tensor": "--tp-comm-overlap" in found,
        }


def check_megatron(job: Job) -> int:
    """See that Megatron-LM has options for all of the plan; the number of its order.

    Raises:
        ConfigError: It has none for something; names it.
    """
    plan, training = job.plan, job.training
    check_model(job, _NAME, able=("experts", "latent"))
    refuse_updates(job, _NAME)
    refuse_unless(
        _NAME,
        plan,
        {
            "schedule": ("1f1b", "1f1b_overlapped"),
            "dispatch_group": (None,),
            "reshard": (True,),
            "recompute_every": (1, plan.recompute_every) if plan.recompute == "full" else (1,),
        },
    )
    check_divisions(job, _NAME)
    if training.sequence % (2 * plan.cp) and plan.cp > 1:
        rule = f"must be a multiple of 2 cp = {2 * plan.cp} for {_NAME}"
        refuse("workload.sequence", rule, training.sequence)
    if plan.cp_kind == "ulysses" and (job.model.key_value_heads // plan.tp) % plan.cp:
        rule = f"must divide the heads of keys of an NPU for ulysses in {_NAME}"
        refuse("plan.cp", rule, plan.cp)
    if plan.ep > 1 and plan.tp > 1 and not plan.splits_sequence:
        refuse("plan.sequence_parallel", f"must be true with tp, experts and {_NAME}", False)
    return check_order(job, _NAME, *_ORDERS)


def degree_flags(job: Job) -> Flags:
    """Degrees of parallelism and the batch; dp is what they leave of all NPUs."""
    plan = job.plan
    flags: Flags = [
        ("--tensor-model-parallel-size", str(plan.tp)),
        ("--pipeline-model-parallel-size", str(plan.pp)),
        ("--context-parallel-size", str(plan.cp)),
        ("--micro-batch-size", str(plan.micro_batch)),
        ("--global-batch-size", str(job.run.workload.global_batch)),
    ]
    if plan.cp > 1:
        flags.append(("--cp-comm-type", _CP_KINDS[plan.cp_kind]))
    if job.model.experts:
        flags.append(("--expert-model-parallel-size", str(plan.ep)))
        flags.append(("--expert-tensor-parallel-size", str(plan.expert_tp)))
    if plan.splits_sequence:
        flags.append(("--sequence-parallel",))
    return flags
