"""Classes of predictions: the levels at which runs and load tests are alike."""

from math import prod

from simcore.config import Run
from simcore.machine import Platform, scale_up_dimensions
from simcore.terms import Precision
from simcore.validation.bands import networks
from simcore.validation.bands.residuals import Chain
from simcore.workload import Model, ParallelPlan, TrainingWorkload

TRAINING = Chain(
    name="training",
    file="measured.csv",
    levels=("kind", "number_format", "npu", "layout"),
    networks=networks.FILE,
)
SERVING = Chain(
    name="serving",
    file="served.csv",
    levels=("mode", "kind", "engine", "npu", "number_format", "regime"),
)

_FORMATS = {Precision.FP8: "8-bit", Precision.FP4: "4-bit", Precision.FP32: "32-bit"}


def levels_of(run: Run) -> tuple[str, str, str, str]:
    """Kind of model, number format, accelerator and layout of a training run."""
    return (
        kind_of(run),
        format_of(run.workload.precision),
        run.platform.npu.name,
        layout_of(run),
    )


def format_of(precision: Precision) -> str:
    """Width of the numbers that products multiply."""
    return _FORMATS.get(precision, "16-bit")


def kind_of(run: Run) -> str:
    """``dense`` or ``routed experts`` for decoders that are trained; else what it is."""
    if not isinstance(run.workload, TrainingWorkload):
        return str(run.workload.kind)
    model = run.workload.model
    if model.encoder_layers:
        return "encoder-decoder"
    return kind_of_model(model) if model.causal else "encoder"


def kind_of_model(model: Model) -> str:
    """``dense``, or ``routed experts``."""
    return "dense" if model.active_parameters == model.parameters else "routed experts"


def layout_of(run: Run) -> str:
    """Split of the model, as far as errors tell layouts apart."""
    plan = run.plan
    if plan.tp > 1 and _leaves_domain(plan, run.platform):
        return "tensor across domains"
    if plan.zero_stage == 3:
        return "sharded weights"
    if plan.pp > 1:
        return "pipeline"
    return "tensor" if plan.tp > 1 or plan.cp > 1 else "replicas"


def _leaves_domain(plan: ParallelPlan, platform: Platform) -> bool:
    """True if an NPU shares its products with others outside its scale-up domain."""
    inside = prod(one.npus for one in platform.dimensions[: scale_up_dimensions(platform)])
    return plan.strides["tp"] * plan.tp > inside
