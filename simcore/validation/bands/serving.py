"""Bands of the time per output token, of load tests and of simulated decode steps."""

from math import log2

from simcore.config import Run
from simcore.network import DEFAULT_BACKEND
from simcore.validation.bands.band import Band, Trust
from simcore.validation.bands.classes import SERVING, format_of, kind_of_model
from simcore.validation.bands.residuals import Group
from simcore.validation.bands.shipped import Judged, shipped
from simcore.validation.bands.silicon import served_name
from simcore.validation.bands.training import ASSUMED, MANY_ROWS, UNFITTED, Evidence
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.checkpoints import checkpoint_of
from simcore.validation.served.models import served_model
from simcore.validation.served.recipes import OR
from simcore.workload.kinds import InferenceWorkload

FEW, MANY = 2.0, 16.0
"""Requests at once per NPU: below the first products wait for weights, from the last on for
themselves."""
POOLS = "pools"
"""Level of load tests in which some accelerators read and others answer."""
_NARROW = {"bf16": "16-bit", "": "16-bit", "nvfp4": "4-bit"}


def served_band(row: MeasuredRow) -> Band:
    """Band of the time per output token of a row of load tests.

    Raises:
        SimcoreError: No shipped model has the row's shape, or a cell holds no number.
    """
    levels, (parameters, npus) = served_levels(row), served_size(row)
    return _evidence(shipped(SERVING), levels, (log2(parameters), log2(npus)), "").band


def served_group(row: MeasuredRow, residual: float) -> Group:
    """The measured *row* as a group of its own; *residual*: ln(measured / predicted).

    All rows come from collections of many operators' tests: the pair of model and accelerator
    stands for the source.
    """
    parameters, npus = served_size(row)
    model, system = row.text("model").split("/")[-1], row.text("system")
    return Group(
        levels=served_levels(row),
        source=f"{row.text('source')}: {model} on {system}",
        model=model,
        parameters=parameters,
        npus=npus,
        residuals=(residual,),
    )


def served_levels(row: MeasuredRow) -> tuple[str, ...]:
    """Levels of ``SERVING`` of a row."""
    npus = row.count("num_gpus") or 1
    return (
        POOLS if row.text("mode") == "disagg" else "one pool",
        kind_of_test(row),
        row.text("backend"),
        row.text("system"),
        _NARROW.get(row.text("gemm_format"), "8-bit"),
        regime((row.count("concurrency") or 1) / npus),
    )


def kind_of_test(row: MeasuredRow) -> str:
    """Kind of the model of a load test, and whether it may guess tokens without telling so.

    A module that guesses comes with the checkpoint, and neither the row nor a recipe tells whether
    it does: tests of either sort stand side by side, up to 1.85 times apart. A row that tells the
    workers of its pools is a whole description.
    """
    kind = kind_of_model(served_model(row.text("model")))
    told = row.text("speculation") or row.count("prefill_num_workers")
    if (told and OR not in row.text("speculation")) or checkpoint_of(
        row.text("model")
    ).speculation is None:
        return kind
    return f"{kind}, guesses untold"


def regime(requests_per_npu: float) -> str:
    """Part of the work that sets the pace of a step with so many requests at once."""
    if requests_per_npu < FEW:
        return "few requests"
    return "some requests" if requests_per_npu < MANY else "many requests"


def decode_band(run: Run) -> Band:
    """Band of the time of *run*, a step of inference."""
    return decode_evidence(run).band


def decode_levels(run: Run) -> tuple[str, ...]:
    """Levels of ``SERVING`` of a step of inference."""
    workload = run.workload
    assert isinstance(workload, InferenceWorkload)
    kernels, npu = run.platform.npu.kernels, run.platform.npu.name
    return (
        POOLS,
        kind_of_model(workload.model),
        {"tensorrt_llm": "trtllm"}.get(kernels.engine, kernels.engine) if kernels else "",
        served_name(npu),
        format_of(workload.precision),
        regime(workload.global_batch / run.platform.npus),
    )


def decode_evidence(run: Run, judged: Judged | None = None) -> Evidence:
    """Evidence for the time of a step of inference in a table, by default the shipped one."""
    lacks = ""
    if run.backend != DEFAULT_BACKEND:
        lacks = f"load tests were predicted with {DEFAULT_BACKEND}"
    elif not is_decode(run):
        lacks = "load tests tell the time per output token alone"
    elif run.compute != "measured":
        lacks = f"load tests were predicted with compute: measured, not {run.compute}"
    place = log2(run.workload.model.parameters), log2(run.platform.npus)
    return _evidence(judged or shipped(SERVING), decode_levels(run), place, lacks)


def is_decode(run: Run) -> bool:
    """True if *run* is a step of inference that answers."""
    return isinstance(run.workload, InferenceWorkload) and run.workload.step == "decode"


def _evidence(
    judged: Judged, levels: tuple[str, ...], place: tuple[float, float], lacks: str
) -> Evidence:
    spread = judged.spread(levels)
    npu = levels[SERVING.levels.index("npu")]
    measured = npu in judged.known("npu")
    width = judged.width(levels, place)
    width *= ASSUMED if lacks else 1.0 if measured else UNFITTED
    trust: Trust = "few runs"
    if lacks or not measured:
        trust = "prior"
    elif spread.depth < len(levels):
        trust = "nearby"
    elif spread.rows >= MANY_ROWS:
        trust = "measured"
    return Evidence(
        spread=spread,
        width=width,
        trust=trust,
        reason=lacks or _told(judged, levels, spread.depth, spread.rows, measured),
    )


def _told(judged: Judged, levels: tuple[str, ...], depth: int, rows: int, measured: bool) -> str:
    if not measured:
        return f"no measured load test on {levels[SERVING.levels.index('npu')]}"
    tests = f"{rows:,} load test{'s' if rows > 1 else ''}"
    return f"{tests} with {', '.join(level for level in levels[:depth] if level)}"


def served_size(row: MeasuredRow) -> tuple[int, int]:
    """Parameters of the model, and NPUs."""
    return served_model(row.text("model")).parameters, row.count("num_gpus") or 1
