"""Options of Megatron-LM for pipelines, recomputation, sharding and number formats."""

from dse.launch.base import Job, PlanKeys, chunk_layers, is_even, refuse
from dse.launch.script import Flags, number

_NAME = "Megatron-LM"
_MODULES = {
    "norms": "layernorm",
    "activations": "moe_act",
    "latent_heads": "mla_up_proj",
    "mlp": "mlp",
    "experts": "moe",
}
_CORE = "core_attn"


def pipeline_flags(job: Job) -> Flags:
    """Virtual stages, layers of uneven chunks, overlap of forward and backward passes.

    Raises:
        ConfigError: There is no option for something of it.
    """
    plan, flags = job.plan, list[tuple[str, ...]]()
    if plan.pp > 1 and is_even(job) and plan.interleave > 1:
        flags.append(("--num-virtual-stages-per-pipeline-rank", str(plan.interleave)))
    elif plan.pp > 1 and not is_even(job):
        flags.append(("--pipeline-model-parallel-layout", _layout(chunk_layers(job))))
    if plan.interleave > 1:
        if job.microbatches % plan.pp and plan.interleave_group is None:
            rule = f"must leave a multiple of pp micro-batches with interleave for {_NAME}"
            refuse("plan.interleave", rule, plan.interleave)
        if plan.interleave_group:
            name = "--microbatch-group-size-per-virtual-pipeline-stage"
            flags.append((name, str(plan.interleave_group)))
    if plan.schedule == "1f1b_overlapped":
        if plan.ep == 1:
            refuse("plan.schedule", f"must be 1f1b with ep 1 for {_NAME}", plan.schedule)
        if plan.recompute == "full" or (plan.pp > 1 and plan.interleave == 1):
            rule = f"needs an interleave above 1 and no full recompute for {_NAME}"
            refuse("plan.schedule", rule, plan.schedule)
        flags.append(("--overlap-moe-expert-parallel-comm",))
    return flags


def _layout(layers: list[int]) -> str:
    """Chunks in order: E the token table, t a layer, L the head and its loss."""
    chunks = ["t" * count for count in layers]
    chunks[0], chunks[-1] = "E" + chunks[0], chunks[-1] + "L"
    return "|".join(chunks)


def read_pipeline(found: dict[str, list[str]]) -> PlanKeys:
    """Keys of the pipeline that options ask for."""
    pp, keys = number(found, "--pipeline-model-parallel-size"), PlanKeys()
    keys["interleave"] = number(found, "--num-virtual-stages-per-pipeline-rank")
    layout = found.get("--pipeline-model-parallel-layout")
    if layout:
        keys["chunk_layers"] = tuple(chunk.count("t") for chunk in layout[0].split("|"))
        keys["interleave"] = len(layout[0].split("|")) // pp
    overlapped = "--overlap-moe-expert-parallel-comm" in found
    keys["schedule"] = "1f1b_overlapped" if overlapped else "1f1b"
    order = "tp-cp-ep-pp-dp" if "--use-tp-pp-dp-mapping" in found else "tp-cp-ep-dp-pp"
    group = number(found, "--microbatch-group-size-per-virtual-pipeline-stage", 0)
    return {**keys, "order": order, "interleave_group": group or None}


def recompute_flags(job: Job) -> Flags:
    """Options for the work that is repeated in the backward pass.

    Raises:
        ConfigError: There is no option for it.
    """
    plan = job.plan
    parts = [_MODULES[part] for part in plan.recompute_parts]
    if "moe_act" in parts and not job.model.experts:
        rule = f"must not hold activations for {_NAME}, which repeats those of experts alone"
        refuse("plan.recompute_parts", rule, "activations")
    if plan.recompute != "full":
        if plan.recompute == "selective" and not parts:
            return [("--recompute-granularity", "selective")]
        names = ([_CORE] if plan.recompute == "selective" else []) + parts
        if not names:
            return []
        return [("--recompute-granularity", "selective"), ("--recompute-modules", *names)]
    if parts:
        rule = f"must be left out with full recompute for {_NAME}"
        refuse("plan.recompute_parts", rule, plan.recompute_parts)
    full = [("--recompute-granularity", "full")]
    if plan.recompute_layers is None:
        count = str(plan.recompute_every)
        return [*full, ("--recompute-method", "uniform"), ("--recompute-num-layers", count)]
    if plan.recompute_every > 1:
        rule = f"must be 1 with recompute_layers for {_NAME}"
        refuse("plan.recompute_every", rule, plan.recompute_every)
    count = str(plan.recompute_layers)
    return [*full, ("--recompute-method", "block"), ("--recompute-num-layers", count)]


def read_recompute(found: dict[str, list[str]]) -> PlanKeys:
    """Keys of recomputation that options ask for."""
    kind = found.get("--recompute-granularity", ["none"])[0]
    keys: PlanKeys = {"recompute": kind, "recompute_parts": ()}
    if modules := found.get("--recompute-modules"):
        names = {module: part for part, module in _MODULES.items()}
        keys["recompute"] = "selective" if _CORE in modules else "none"
        keys["recompute_parts"] = tuple(names[one] for one in modules if one != _CORE)
    if kind == "full":
        count = number(found, "--recompute-num-layers")
        is_block = found["--recompute-method"] == ["block"]
        keys["recompute_layers" if is_block else "recompute_every"] = count
    return keys


def data_flags(job: Job) -> Flags:
    """Options for the shared parts of the optimizer, and for what runs beside the passes.

    Raises:
        ConfigError: There is no option for it.
    """
    plan = job.plan
    flags = _fsdp_flags(job) if plan.zero_stage > 1 else []
    if plan.zero_stage:
        flags.append(("--use-distributed-optimizer",))
    if plan.zero_stage == 1 and plan.shard_copies > 1:
        flags.append(("--num-distributed-optimizer-instances", str(plan.shard_copies)))
    if plan.overlap_gradients:
        flags.append(("--overlap-grad-reduce",))
    if plan.overlap_weights:
        if not plan.zero_stage or not plan.overlap_gradients:
            rule = f"needs zero_stage 1 and overlap_gradients for {_NAME}"
            refuse("plan.overlap_weights", rule, True)
        flags.append(("--overlap-param-gather",))
    if plan.overlap_tensor:
        if not plan.splits_sequence:
            refuse("plan.overlap_tensor", f"needs sequence_parallel for {_NAME}", True)
        flags.append(("--tp-comm-overlap",))
    if plan.bucket_bytes and plan.zero_stage < 2:
        numbers = int(plan.bucket_bytes // _BYTES[job.training.gradient_format])
        flags.append(("--ddp-bucket-size", str(max(1, numbers))))
    return flags


def _fsdp_flags(job: Job) -> Flags:
    """Gradients, or weights too, sharded over the replicas."""
    plan = job.plan
    if plan.tp * plan.cp > 1:
        rule = f"must be 0 or 1 with tp or cp in {_NAME}, whose FSDP wants more than the one"
        rule += " connection that these ask for"
        refuse("plan.zero_stage", rule, plan.zero_stage)
    if plan.pp > 1 or plan.shard_copies > 1:
        refuse("plan.zero_stage", f"must be 0 or 1 with pp or shard in {_NAME}", plan.zero_stage)
    strategy = "optim_grads" if plan.zero_stage == 2 else "optim_grads_params"
    return [
        ("--use-megatron-fsdp",),
        ("--data-parallel-sharding-strategy", strategy),
        ("--ckpt-format", "fsdp_dtensor"),
        ("--no-gradient-accumulation-fusion",),
    ]


_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


def number_flags(job: Job) -> Flags:
    """Number formats, optimizer and fused kernels.

    Raises:
        ConfigError: There is no option for it.
    """
    work, plan = job.training, job.plan
    precision = str(work.precision)
    formats: dict[str, Flags] = {
        "bf16": [("--bf16",)],
        "fp16": [("--fp16",)],
        "fp8": [("--bf16",), ("--fp8-format", "hybrid")],
        "fp32": [],
    }
    if precision not in formats:
        rule = f"must be {' or '.join(formats)} for {_NAME}: options for more are not written here"
        refuse("workload.precision", rule, precision)
    flags = list(formats[precision])
    for key, usual in (("moment_format", "fp32"), ("weight_format", None), ("kept_format", None)):
        if getattr(work, key) != usual:
            rule = f"must be left out for {_NAME}: options for it are not written here"
            refuse(f"workload.{key}", rule, getattr(work, key))
    if work.gradient_format == "bf16" and precision in ("bf16", "fp8"):
        flags.append(("--grad-reduce-in-bf16",))
    elif work.gradient_format != "fp32":
        rule = f"must be fp32, or bf16 with a precision of bf16, for {_NAME}"
        refuse("workload.gradient_format", rule, work.gradient_format)
    if work.optimizer == "adagrad":
        refuse("workload.optimizer", f"must be adam or sgd for {_NAME}", work.optimizer)
    flags.append(("--optimizer", work.optimizer))
    if not plan.flash_attention:
        flags.append(("--attention-backend", "unfused"))
    if plan.fused_loss:
        flags.append(("--cross-entropy-loss-fusion",))
    if not plan.fused_gradients and plan.zero_stage < 2:
        flags.append(("--no-gradient-accumulation-fusion",))
    return flags
