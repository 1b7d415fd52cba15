"""Writes the page of errors, its plots and the table behind the error bands."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from simcore.config import Run
from simcore.errors import ConfigError, SimcoreError
from simcore.terms import Precision
from simcore.units import plain_sum
from simcore.validation.bands.write import write_training_table
from simcore.validation.collectives import predict_collectives
from simcore.validation.efficiency_tables import silicon_table, stack_table
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.models import model_of
from simcore.validation.rows import MeasuredRow
from simcore.validation.score import (
    Compared,
    Errors,
    Ranking,
    compare,
    errors_by,
    ranking,
)
from simcore.validation.training import TrainingPredictor
from simcore.workload import TrainingWorkload

PAGE = "validation.md"
LARGE_BYTES = 1 << 20


def write_report(training: Path, collectives: Path, docs: Path, configs: Path) -> list[Path]:
    """Predict both tables, and write the page, its plots and the table of measured runs.

    Args:
        training: Table of training runs, measured columns filled.
        collectives: Table of collectives, likewise.
        docs: Folder of the page; plots go to ``images`` in it.
        configs: Folder that gets the table of measured runs.

    Returns:
        What was written.

    Raises:
        ConfigError: A table cannot be read or tells nothing, or a file cannot be written.
    """
    rows, machines = list(MeasuredRow.all_of(training)), Machines()
    predictor = TrainingPredictor(machines)
    trained = compare(rows, [predictor.predict(row) for row in rows], training_s)
    measured = list(MeasuredRow.all_of(collectives))
    moved = compare(measured, list(predict_collectives(collectives)), collective_s)
    for path, found in ((training, trained), (collectives, moved)):
        _check_compared(path, found)
    runs: list[tuple[Compared, Run]] = [
        (one, run_of(one.row, machines)) for one in trained if one.predicted_s is not None
    ]
    images = {
        "validation_training.svg": scatter(_by_source(trained), "One training iteration"),
        "validation_collectives.svg": scatter(_by_source(moved), "One collective"),
    }
    written = write_training_table(configs, runs)
    for name, image in images.items():
        written.append(_write(docs / "images" / name, image))
    return [*written, _write(docs / PAGE, _page(trained, moved))]


def _check_compared(path: Path, compared: Sequence[Compared]) -> None:
    """See whether there is anything to tell errors of.

    Raises:
        ConfigError: No row of the table at *path* has both a measured time and a prediction.
    """
    if all(one.predicted_s is None for one in compared):
        rule = "must hold a row with a measured time that can be predicted"
        raise ConfigError(str(path), rule, got=f"{len(compared)} rows with a measured time")


def _by_source(compared: Sequence[Compared]) -> dict[str, list[tuple[float, float]]]:
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in compared:
        if one.predicted_s is not None:
            points[one.row.text("source")].append((one.measured_s, one.predicted_s))
    return points


def _page(trained: Sequence[Compared], moved: Sequence[Compared]) -> str:
    by_source = errors_by(trained, "source")
    covered = sum(errors.covered for errors in by_source)
    known = [errors.mean_absolute for errors in by_source if errors.covered]
    large = [one for one in moved if (one.row.number("size_bytes") or 0) >= LARGE_BYTES]
    parts = [
        "# Held against measured runs",
        "Made by `python -m simcore validate report`; edit nothing here by hand but through "
        "`simcore/validation/notes.md`.",
        f"**{covered} of {len(trained)} published training runs are predicted, with a mean error "
        f"of {plain_sum(known) / len(known):.1%} (mean over {len(known)} sources of each source's "
        "mean absolute error of the iteration time).** No value is fitted to a source, a model or "
        "a cluster: one set of efficiencies per silicon, one of costs per software stack, and one "
        "description per kind of link.",
        "![Predicted against measured iteration times](images/validation_training.svg)",
        "## Training runs by source",
        _error_table(by_source, "source"),
        "## Training runs by accelerator",
        _error_table(errors_by(trained, "gpu"), "accelerator"),
        "## Training runs by number format",
        _error_table(errors_by(trained, "precision"), "format"),
        "## Which layout is fastest",
        _ranking_text(ranking(trained)),
        "## Collectives of 1 MiB and more",
        _error_table(errors_by(large, "source"), "source"),
        "![Predicted against measured collectives](images/validation_collectives.svg)",
        "## Efficiencies",
        silicon_table(),
        "## Software stacks",
        stack_table(),
        files("simcore.validation").joinpath("notes.md").read_text(encoding="utf-8").strip(),
    ]
    return "\n\n".join(parts) + "\n"


def _error_table(groups: Iterable[Errors], name: str) -> str:
    lines = [
        f"| {name} | rows | predicted | mean error | median | largest | bias |",
        "|---|---|---|---|---|---|---|",
    ]
    for group in groups:
        cells = [group.name, str(group.rows), str(group.covered)]
        if group.covered:
            values = (group.mean_absolute, group.median_absolute, group.largest)
            cells += [f"{value:.1%}" for value in values] + [f"{group.bias:+.1%}"]
        else:
            cells += [""] * 4
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _ranking_text(order: Ranking) -> str:
    return (
        f"In {order.groups} groups of five or more layouts of one model on one machine, the rank "
        f"correlation of predicted and measured times is {order.spearman:.2f} (Spearman, mean). "
        f"The layout predicted to be fastest takes {order.extra_time:.1%} longer than the "
        f"fastest one on average, at most {order.largest_extra_time:.0%}; it is the fastest in "
        f"{order.exact} groups. One layout was measured several times with different releases of "
        "the software, and no prediction from the layout can tell those rows apart: counted as the "
        f"slowest of its rows, even the best choice takes {order.least_extra_time:.1%} longer on "
        f"average and {order.least_largest_extra_time:.0%} at most."
    )


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
    return path


_COLOURS = ("#1f6fb4", "#d1691c", "#2b8a3e", "#a33aa0", "#8a6d00", "#c2255c", "#0b7285")
_OTHERS = "#5c5f66"


def scatter(series: Mapping[str, Sequence[tuple[float, float]]], title: str) -> str:
    """Points (measured, predicted) in seconds, both axes logarithmic, with the lines of ±20 %.

    The largest series have colours of their own, the others share one.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        rule = "the pictures need matplotlib: install simcore-dse[report]"
        raise ConfigError("validation report", rule, got="no matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ordered = sorted(series, key=lambda name: -len(series[name]))
    others = len(ordered) - len(_COLOURS)
    colours = [*_COLOURS, *[_OTHERS] * others][: len(ordered)]
    legend = list(zip(ordered, _COLOURS, strict=False))
    if others > 0:
        legend.append((f"{others} others", _OTHERS))
    points = [
        (*point, colour)
        for name, colour in zip(ordered, colours, strict=True)
        for point in series[name]
    ]
    measured_s, predicted_s, drawn = zip(*points, strict=True)
    ends = min(*measured_s, *predicted_s) / 1.3, max(*measured_s, *predicted_s) * 1.3
    # text stays text, and the same picture is the same file
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "simcore", "font.size": 9}):
        figure = Figure(figsize=(10.0, 5.2), layout="constrained")
        axes = figure.subplots()
        for factor, style in ((1.0, "-"), (1.2, "--"), (1 / 1.2, "--")):
            axes.plot(ends, [factor * end for end in ends], style, color="#888888", linewidth=0.8)
        # thousands of points as text would be a large file
        axes.scatter(measured_s, predicted_s, s=9, c=drawn, alpha=0.6, zorder=2, rasterized=True)
        for name, colour in legend:
            axes.plot([], [], "o", color=colour, markersize=4, label=name)
        axes.set(title=title, xlabel="measured, s", ylabel="predicted, s", xlim=ends, ylim=ends)
        axes.set(xscale="log", yscale="log", aspect="equal")
        axes.grid(color="#dddddd")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        text = StringIO()
        figure.savefig(text, format="svg", dpi=150, metadata={"Date": None})
    return text.getvalue()


MOST_BY_CONVENTION = 0.1
"""Share of the FLOP that may depend on whether masked scores were counted."""
TERA = 1e12


def training_s(row: MeasuredRow) -> float | None:
    """The measured time of one training iteration, in s; None where the row does not tell it.

    A rate in model FLOP stands for the time of a whole iteration's model FLOP, masked scores
    counted as in the PaLM paper (A. Chowdhery et al., arXiv:2204.02311, appendix B), unless much
    depends on that. Rates of FLOP that are executed, or counted in some other way, tell nothing.

    Raises:
        ConfigError: A cell holds no number where one is due, or one below 0.
    """
    measured_s = _known(row, "iter_time_s")
    if measured_s is not None:
        return measured_s
    rate, npus = _known(row, "tflops_per_gpu"), _known(row, "num_gpus")
    if rate is None or npus is None or "model FLOP" not in row.text("flops_convention"):
        return None
    flop = _model_flop(row)
    return None if flop is None else flop / (rate * TERA * npus)


def collective_s(row: MeasuredRow) -> float | None:
    """The measured time of one collective, in s.

    Raises:
        ConfigError: The cell holds no number, or one below 0.
    """
    measured_us = _known(row, "time_us")
    return None if measured_us is None else measured_us * 1e-6


def _known(row: MeasuredRow, column: str) -> float | None:
    """The cell's number; None where it is empty or 0, which is how some tables say unknown."""
    value = row.number(column)
    if value is not None and value < 0:
        raise ConfigError(f"{row.at}: {column}", "must be above 0, or empty", got=value)
    return value or None


def _model_flop(row: MeasuredRow) -> float | None:
    """Model FLOP of one iteration; None where they are not told or differ much by convention."""
    sequence, sequences = row.count("seq_len"), row.count("global_batch")
    if not sequence or not sequences:
        return None
    try:
        model = model_of(row)
        counted = [
            TrainingWorkload.build(
                "workload",
                model=model.model_copy(update={"causal": causal}),
                sequence=sequence,
                global_batch=sequences,
                precision=Precision.BF16,
            ).model_flop
            for causal in (True, False)
        ]
    except SimcoreError:
        return None
    masked, whole = counted
    return whole if whole / masked - 1 <= MOST_BY_CONVENTION else None
