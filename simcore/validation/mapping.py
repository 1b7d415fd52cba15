"""From a row of published columns to a run: model, batch, plan and machine.

What a publisher left out is filled in by these rules, from the other columns only; neither the
source's name nor the measured columns are read.

- Parallel sizes: those that are empty share what is left of the NPUs: data parallelism up to one
  sequence each, then tensor parallelism.
- Micro-batch: 1 in a pipeline; else the most sequences of the local batch within 8,192 tokens.
- Sequence parallelism: with tensor parallelism, unless the row says no.
- Experts are spread whole (expert tensor parallelism 1).
- Virtual stages: with a pipeline, the most that leave two layers or more to each; a stage that has
  a layer less than others counts as one of them.
- ``fsdp`` is ZeRO 3; in a pipeline it is ZeRO 1, since weights then stay gathered all iteration.
- ``zero3`` gathers weights when they are needed, each NPU over its own network port.
- ZeRO 2 in a pipeline or with several micro-batches reduces once per iteration, as ZeRO 1 does.
- Gradients are reduced beside the backward pass without a pipeline, or where weights or gradients
  are sharded or the optimizer is ``distributed``; else after it.
- Weights, gradients and optimizer state that do not fit with the published sharding: refused.
- Recompute: full in software of 2021 and 2022; else the savings of memory that cost least time and
  with which the run fits (``savings.py``): it ran, and somehow it did. Selective recompute, in
  software with fused attention, keeps what products make and repeats norms and activations.
- Software: no row names it; ``stacks.py`` tells the usual one of its accelerator and layout. It
  decides whether attention, loss and sums of gradients are fused, whether tensor parallel
  collectives run beside products (where the sequence is split), and the format of sums. Where
  software of 2022 does not tell its recompute, attention is fused.
"""

from simcore.config import Run
from simcore.errors import ConfigError, InfeasibleError
from simcore.machine import MOST_NPUS, Platform
from simcore.machine.stack import load_stack
from simcore.machine.system import System
from simcore.memory.footprint import footprint
from simcore.terms import Precision
from simcore.validation.machine import GB, Machines, leaves_nodes, shard_group, zero_stage
from simcore.validation.models import model_of
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.savings import least_savings
from simcore.validation.stacks import is_of_2022, stack_of
from simcore.workload import Model, ParallelPlan, TrainingWorkload

MICRO_BATCH_TOKENS = 8192
MAX_INTERLEAVE = 6

SYSTEM = System(
    chunks=4,
    all_reduce="ring",
    phase_end="together",
    execution="streams",
)
"""Rings on every level, as NCCL builds them; transfers of different axes run side by side."""

_PRECISIONS = {
    "fp16": Precision.FP16,
    "bf16": Precision.BF16,
    "fp32": Precision.FP32,
    "int8": Precision.FP8,
    "fp8": Precision.FP8,
    "mxfp8": Precision.FP8,
    "nvfp4": Precision.FP4,
    "fp4": Precision.FP4,
}


def run_of(row: MeasuredRow, machines: Machines) -> Run:
    """The run that *row* describes.

    Raises:
        UnsupportedRow: Nothing models what it asks for; says what.
        ConfigError: A cell holds no number where one is due.
    """
    model = model_of(row)
    plan = plan_of(row, model)
    workload = TrainingWorkload.build(
        "workload",
        model=model,
        sequence=_needed(row, "seq_len"),
        global_batch=_whole_batch(row, plan),
        precision=precision_of(row),
        gradient_format=_gradient_format(row),
    )
    for column in ("num_gpus", "gpus_per_node", "intra_bw_GBps", "inter_bw_GBps"):
        row.number(column)  # refuses what is none
    try:
        platform = machines.platform(row, workload, plan)
        _check_states(row, workload, plan, platform)
        workload, plan = _fitting(row, workload, plan, platform)
        return Run(
            stack=stack_of(row), workload=workload, plan=plan, platform=platform, system=SYSTEM
        )
    except (ConfigError, InfeasibleError) as error:
        raise UnsupportedRow(str(error)) from error


def plan_of(row: MeasuredRow, model: Model) -> ParallelPlan:
    """The layout of *row*, with what was not published filled in."""
    tp, pp, cp, dp = _sizes(row)
    micro_batch = row.count("micro_batch") or _micro_batch(row, pp=pp, dp=dp)
    recompute, ep = recompute_of(row), row.count("ep") or 1
    plan = ParallelPlan.build(
        "plan",
        tp=tp,
        pp=pp,
        cp=cp,
        dp=dp,
        ep=ep,
        etp=1 if ep > 1 else None,
        micro_batch=micro_batch,
        sequence_parallel=tp > 1 and row.text("seq_parallel") != "no",
        zero_stage=zero_stage(row, pp=pp),
        shard=shard_group(row),
        prefetch=0 if leaves_nodes(row) else 1,
        recompute=recompute,
        recompute_parts=_recompute_parts(row),
        overlap_gradients=_overlaps_gradients(row, pp=pp),
        dispatch_group=_dispatch_group(row, ep),
        **_choices(row, tp=tp),
    )
    return plan.model_copy(update={"interleave": _interleave(row, model, plan)})


def _check_states(
    row: MeasuredRow, workload: TrainingWorkload, plan: ParallelPlan, platform: Platform
) -> None:
    """Refuse what its columns leave no room for, such as the training of adapters alone."""
    sharding = row.text("dp_sharding")
    if sharding in ("", "none"):
        return
    stages = footprint(workload, plan).stages
    held = max(s.weights_bytes + s.gradients_bytes + s.optimizer_bytes for s in stages)
    if held > platform.npu.memory_bytes:
        capacity_gb = platform.npu.memory_bytes / GB
        raise UnsupportedRow(
            f"weights, gradients and optimizer state take {held / GB:.0f} GB per NPU with sharding "
            f"'{sharding}', more than its {capacity_gb:.0f} GB; what saves memory is not published"
        )


def _fitting(
    row: MeasuredRow, workload: TrainingWorkload, plan: ParallelPlan, platform: Platform
) -> tuple[TrainingWorkload, ParallelPlan]:
    """The run with the savings that it needs to fit, where its recompute was not published."""
    if row.text("recompute") or is_of_2022(row):
        return workload, plan
    return least_savings(workload, plan, platform.npu.memory_bytes)


def precision_of(row: MeasuredRow) -> Precision:
    """The format of the matrix products; of ``fp8 rowwise`` and ``int8/bf16`` the first word."""
    text = row.text("precision").replace("/", " ").replace("-", " ")
    name = text.split(" ")[0] if text else ""
    if name not in _PRECISIONS:
        raise UnsupportedRow(f"precision {name or '(none)'} is not modelled")
    return _PRECISIONS[name]


def _gradient_format(row: MeasuredRow) -> str:
    narrow = precision_of(row) is Precision.FP16 and not load_stack(stack_of(row)).wide_sums
    return "fp16" if narrow else "fp32"


def recompute_of(row: MeasuredRow) -> str:
    """``full`` and ``selective`` as the row says, else that of its time."""
    text = row.text("recompute") or ("full" if is_of_2022(row) else "none")
    return next((kind for kind in ("full", "selective") if text.startswith(kind)), "none")


def _recompute_parts(row: MeasuredRow) -> tuple[str, ...]:
    """Modules that ``selective`` and ``minimal`` repeat where the attention core is fused."""
    selective = row.text("recompute").startswith(("selective", "minimal"))
    return ("norms", "activations") if selective and not is_of_2022(row) else ()


def _needed(row: MeasuredRow, column: str) -> int:
    value = row.count(column)
    if value is None:
        raise UnsupportedRow(f"{column} is not published")
    return value


def _sizes(row: MeasuredRow) -> tuple[int, int, int, int]:
    npus = _needed(row, "num_gpus")
    if npus > MOST_NPUS:
        raise UnsupportedRow(f"{npus} NPUs are more than the {MOST_NPUS} that can be simulated")
    tp, pp, cp = (row.count(axis) or 1 for axis in ("tp", "pp", "cp"))
    if not row.text("tp") and not row.text("dp"):
        tp = _least_tensor(npus // (pp * cp), row.count("global_batch") or npus)
    dp = row.count("dp") or max(1, npus // (tp * pp * cp))
    if tp * pp * cp * dp != npus:
        product = f"{tp} x {pp} x {cp} x {dp}"
        raise UnsupportedRow(f"tp x pp x cp x dp = {product} is not the number of NPUs, {npus}")
    return tp, pp, cp, dp


def _least_tensor(npus: int, sequences: int) -> int:
    """The least tensor parallelism that leaves no more replicas than there are sequences."""
    fitting = (tp for tp in range(1, npus + 1) if npus % tp == 0 and npus // tp <= sequences)
    return next(fitting, 1)


def _micro_batch(row: MeasuredRow, *, pp: int, dp: int) -> int:
    local = max(1, _needed(row, "global_batch") // dp)
    if pp > 1:
        return 1
    most = max(1, MICRO_BATCH_TOKENS // _needed(row, "seq_len"))
    return max(size for size in range(1, most + 1) if local % size == 0)


def _whole_batch(row: MeasuredRow, plan: ParallelPlan) -> int:
    """The batch in whole micro-batches on every replica; the last round may be partly idle."""
    step = plan.dp * plan.micro_batch
    return -(-_needed(row, "global_batch") // step) * step


def _choices(row: MeasuredRow, *, tp: int) -> dict[str, bool]:
    """Fields of the plan that the software of *row* decides."""
    made = load_stack(stack_of(row)).plan.made
    splits = tp > 1 and row.text("seq_parallel") != "no"
    made["overlap_tensor"] = splits and made.get("overlap_tensor", False)
    if not row.text("recompute"):
        made["flash_attention"] = True
    return made


def _dispatch_group(row: MeasuredRow, ep: int) -> int | None:
    """NPUs of a node, where experts lie on several whole nodes and the software dispatches so."""
    node = row.count("gpus_per_node")
    if not node or ep <= node or ep % node or not load_stack(stack_of(row)).dispatch_by_node:
        return None
    return node


def _overlaps_gradients(row: MeasuredRow, *, pp: int) -> bool:
    sharding = row.text("dp_sharding")
    return pp == 1 or sharding.startswith(("distributed", "fsdp", "zero2", "zero3"))


def _interleave(row: MeasuredRow, model: Model, plan: ParallelPlan) -> int:
    if plan.pp == 1:
        return 1
    published = row.count("vp")
    if published:
        fits = plan.pp * published <= model.layers
        return published if fits and _batches(row, plan) % plan.pp == 0 else 1
    if _batches(row, plan) % plan.pp:
        return 1
    per_stage = -(-model.layers // plan.pp)
    fitting = [v for v in range(1, MAX_INTERLEAVE + 1) if per_stage % v == 0 and per_stage // v > 1]
    return max(fitting, default=1)


def _batches(row: MeasuredRow, plan: ParallelPlan) -> int:
    return _whole_batch(row, plan) // (plan.dp * plan.micro_batch)
