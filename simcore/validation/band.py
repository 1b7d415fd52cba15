"""Errors of predictions like this one against measured runs."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from io import StringIO
from math import inf, log
from pathlib import Path
from typing import Self, get_type_hints

from simcore.config import Run
from simcore.errors import ConfigError
from simcore.files.input_file import read_text
from simcore.files.resources import shipped_folder
from simcore.network import DEFAULT_BACKEND
from simcore.terms import Precision
from simcore.validation.score import Compared
from simcore.workload import ParallelPlan, TrainingWorkload

TABLE = Path("validation") / "measured.csv"
"""Below ``configs``: one line per model, machine size and format that was measured."""
WITHIN = 0.8
_UNMEASURED = (
    "schedule",
    "interleave_group",
    "cp_kind",
    "dispatch_group",
    "scatter_each",
    "recompute_parts",
    "updates",
)
"""Keys of plans that measured rows have no column for: all were predicted with the defaults."""
_FORMATS = {Precision.FP8: "8-bit", Precision.FP4: "4-bit", Precision.FP32: "32-bit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRuns:
    """Measured runs of one model on so many NPUs, and how far off their predictions were.

    Attributes:
        npu: Accelerator, a name of ``configs/npus``.
        number_format: Of the products: ``16-bit``, ``8-bit`` ...
        kind: ``dense`` or ``routed experts`` for transformers with a decoder alone; else the name
            of what it is.
        parameters: Of the model.
        rows: Runs.
        error: Mean absolute relative error of their predictions.
    """

    npu: str
    number_format: str
    kind: str
    source: str
    model: str
    parameters: int
    npus: int
    rows: int
    error: float

    def distance(self, parameters: int, npus: int) -> float:
        """From another model and machine: how many times larger or smaller, on logarithms."""
        return abs(log(self.parameters / parameters)) + abs(log(self.npus / npus))


@dataclass(frozen=True)
class MeasuredTable:
    """All measured runs that predictions were held against."""

    runs: tuple[MeasuredRuns, ...]

    @classmethod
    def shipped(cls) -> Self:
        """The table that came with this installation; empty if none did."""
        path = shipped_folder("configs") / TABLE
        return cls(tuple(_read(path)) if path.is_file() else ())

    @cached_property
    def _by_class(self) -> dict[tuple[str, str, str], list[MeasuredRuns]]:
        found: dict[tuple[str, str, str], list[MeasuredRuns]] = defaultdict(list)
        for one in self.runs:
            found[one.npu, one.number_format, one.kind].append(one)
        return found

    def band(self, run: Run) -> str:
        """Band from measured runs for predictions like that of *run*, in one phrase."""
        npu, number_format, kind = class_of(run)
        model, npus = run.workload.model, run.platform.npus
        if kind not in {key[2] for key in self._by_class}:
            return f"not validated here: no measured run of a workload of this kind ({kind})"
        if choice := _never_measured(run.plan):
            return f"not validated here: no measured run with {choice}"
        alike = self._by_class.get((npu, number_format, kind), [])
        if alike:
            nearest = min(alike, key=lambda one: one.distance(model.parameters, npus))
            return (
                f"±{_quantile(alike):.0%} ({sum(one.rows for one in alike)} measured runs on "
                f"{npu}, {number_format}, {kind}; {WITHIN:.0%} of them are within; nearest: "
                f"{nearest.model} on {nearest.npus})"
            )
        same_npu = [one for key, runs in self._by_class.items() if key[0] == npu for one in runs]
        if not same_npu:
            return f"not validated here: no measured run on {npu}"
        nearest = min(same_npu, key=lambda one: one.distance(model.parameters, npus))
        return (
            f"not validated here: measured runs on {npu} have other formats or models; nearest: "
            f"{nearest.model}, {nearest.number_format}, on {nearest.npus}, "
            f"off by {nearest.error:.0%}"
        )


def _never_measured(plan: ParallelPlan) -> str:
    """A choice of *plan* that rows of measured runs do not know."""
    for key in _UNMEASURED:
        value = getattr(plan, key)
        if value != ParallelPlan.model_fields[key].get_default(call_default_factory=True):
            return f"plan.{key}: {getattr(value, 'kind', value)}"
    return ""


def validated_band(run: Run) -> str:
    """Band from measured runs for predictions like that of *run*, or that there is none."""
    if run.backend != DEFAULT_BACKEND:
        return f"not validated here: measured runs were predicted with {DEFAULT_BACKEND}"
    return MeasuredTable.shipped().band(run)


def class_of(run: Run) -> tuple[str, str, str]:
    """Accelerator, number format and kind of model: runs that agree in them are alike."""
    number_format = _FORMATS.get(run.workload.precision, "16-bit")
    return run.platform.npu.name, number_format, _kind(run)


def _kind(run: Run) -> str:
    if not isinstance(run.workload, TrainingWorkload):
        return run.workload.kind
    model = run.workload.model
    if model.encoder_layers:
        return "encoder-decoder"
    if not model.causal:
        return "encoder"
    return "dense" if model.active_parameters == model.parameters else "routed experts"


def measured_runs(compared: Sequence[tuple[Compared, Run]]) -> list[MeasuredRuns]:
    """The lines of the table: predicted rows by class, source, model and number of NPUs."""
    groups: dict[tuple[str, str, str, str, str, int], list[tuple[float, int]]] = defaultdict(list)
    for one, run in compared:
        source, model = one.row.text("source"), one.row.text("model")
        key = (*class_of(run), source, model, run.platform.npus)
        groups[key].append((abs(one.error), run.workload.model.parameters))
    return [
        MeasuredRuns(
            npu=npu,
            number_format=number_format,
            kind=kind,
            source=source,
            model=model,
            parameters=found[0][1],
            npus=npus,
            rows=len(found),
            error=round(sum(error for error, _ in found) / len(found), 4),
        )
        for (npu, number_format, kind, source, model, npus), found in sorted(groups.items())
    ]


def write_table(path: Path, runs: Sequence[MeasuredRuns]) -> None:
    """Write the table.

    Raises:
        ConfigError: *path* cannot be written.
    """
    names = [field.name for field in fields(MeasuredRuns)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([getattr(one, name) for name in names] for one in runs)
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None


def _read(path: Path) -> Iterator[MeasuredRuns]:
    types = get_type_hints(MeasuredRuns)
    for cells in csv.DictReader(StringIO(read_text(path))):
        yield MeasuredRuns(**{name: read(cells[name]) for name, read in types.items()})


def _quantile(runs: Sequence[MeasuredRuns]) -> float:
    """Error within which the part ``WITHIN`` of the runs lies, sources weighing alike."""
    rows: dict[str, int] = defaultdict(int)
    for one in runs:
        rows[one.source] += one.rows
    weight, total = 0.0, float(len(rows))
    for one in sorted(runs, key=lambda one: one.error):
        weight += one.rows / rows[one.source]
        if weight >= WITHIN * total - 1e-9:
            return one.error
    return inf
