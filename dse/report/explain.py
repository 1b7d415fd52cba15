"""Explanation of one design's speed, costs and feasibility."""

from dataclasses import dataclass, replace

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.objectives import OBJECTIVES
from dse.provenance import changed_since
from dse.report.amounts import plain, short_names, show_metric, show_objective, show_value
from dse.report.measured import design_band
from dse.report.prices import price_sensitivity, told
from dse.results.result import StudyResult
from dse.study.trials import Trial
from simcore import ConfigError, files_kept

NEIGHBOURS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """A titled list of lines: a name, a value, and what to make of it."""

    title: str
    lines: tuple[tuple[str, str, str], ...]


def explain_trial(result: StudyResult, number: int) -> list[ReportSection]:
    """Evaluate a trial again and say what its objectives are made of.

    Args:
        result: The study.
        number: Of the trial.

    Raises:
        ConfigError: There is no such trial.
    """
    rows = {row.number: row for row in result.rows}
    if number not in rows:
        last = max(rows, default=-1)
        raise ConfigError("TRIAL", f"must be one of the trials 0 to {last}", got=number)
    trial = rows[number]
    own = result.provenances[trial.provenance : trial.provenance + 1]
    files = own[0].texts() if own else result.study.files
    changed = tuple((line, "", "") for line in changed_since(own))
    with files_kept(files):
        sections = _sections(trial, replace(result, study=replace(result.study, files=files)))
    sections.insert(1, ReportSection(title="changed since", lines=changed))
    return [section for section in sections if section.lines]


def _sections(trial: Trial, result: StudyResult) -> list[ReportSection]:
    level = trial.evaluation.fidelity if trial.evaluation.fidelity in result.study.levels else ""
    study = result.study.judged_at(level) if level else result.study
    evaluator = build_evaluator(study.evaluator_input)
    evaluation = evaluate(evaluator, result.study.goals, trial.design)
    metrics = dict(evaluation.metrics)
    sections = [_design(trial, result)]
    if trial.state == "pruned":
        lines = ((trial.evaluation.reason, "", "its values are worked out only now"),)
        sections.append(ReportSection(title="pruned", lines=lines))
    if evaluation.reason:
        sections.append(ReportSection(title=evaluation.state, lines=((evaluation.reason, "", ""),)))
    sections.append(_objectives(trial, result, dict(evaluation.objectives)))
    notes = tuple((note, "", "") for note in evaluation.notes)
    sections.append(ReportSection(title="notes", lines=notes))
    sections.append(_levels(trial, result))
    sections.append(_time(metrics))
    sections.append(_cost(metrics))
    sections.append(_margins(dict(evaluation.constraints), metrics))
    band = (("iteration time", design_band(result, trial.design), ""),)
    sections.append(ReportSection(title="measured against", lines=band))
    sections.append(_prices(trial, result))
    sections += _neighbours(trial, result)
    return sections


def _design(trial: Trial, result: StudyResult) -> ReportSection:
    parameters = result.study.space.parameters
    short = short_names(list(parameters))
    lines = [(short[n], show_value(parameters[n], v), "") for n, v in trial.design.items()]
    return ReportSection(title=f"trial {trial.number}", lines=tuple(lines))


def _objectives(trial: Trial, result: StudyResult, values: dict[str, float]) -> ReportSection:
    front = [result.rows[index] for index in result.front]
    goals = result.study.goals
    lines = []
    for name, sign in zip(goals.objectives, goals.signs, strict=True):
        if name not in values:
            continue
        note = ""
        if front:
            best = min(sign * row.evaluation.objectives[name] for row in front) * sign
            note = f"{values[name] / best:.3f} x the best of the front" if best else ""
        lines.append((OBJECTIVES[name].label, show_objective(name, values[name]), note))
    return ReportSection(title="objectives", lines=tuple(lines))


def _levels(trial: Trial, result: StudyResult) -> ReportSection:
    """Results of the trial per fidelity, where there are several."""
    rows = [row for row in result.rows if row.number == trial.number]
    lines = [
        (f"{OBJECTIVES[name].label} at {row.evaluation.fidelity}", show_objective(name, value), "")
        for row in rows
        for name, value in row.evaluation.objectives.items()
    ]
    lines += [
        (f"{row.state} at {row.evaluation.fidelity}", "", row.evaluation.reason)
        for row in rows
        if not row.evaluation.objectives
    ]
    return ReportSection(title="fidelities", lines=tuple(lines) if len(rows) > 1 else ())


def _time(metrics: dict[str, float]) -> ReportSection:
    """Parts of the iteration time, largest first."""
    whole = metrics.get("iteration_time_s", 0.0)
    parts = [
        (name, value)
        for name, value in metrics.items()
        if name.endswith("_s")
        and name.startswith(("compute_", "exposed_", "bubble_"))
        and name not in ("compute_s", "exposed_communication_s")
        and value > 0
    ]
    parts.sort(key=lambda part: -part[1])
    lines = [
        (*show_metric(name, value), f"{value / whole:.1%}" if whole else "")
        for name, value in parts
    ]
    for name in ("mfu", "hfu"):
        if name in metrics:
            lines.append((name.upper(), f"{metrics[name]:.1%}", ""))
    for name, value in metrics.items():
        if name.startswith("utilization_"):
            lines.append((f"links of {name.removeprefix('utilization_')}", f"{value:.1%}", "busy"))
    return ReportSection(title="where the time goes", lines=tuple(lines))


def _cost(metrics: dict[str, float]) -> ReportSection:
    whole = metrics.get("capital_cost_usd", 0.0)
    lines = [
        (
            *show_metric(name.removeprefix("capital_"), value),
            f"{value / whole:.1%}" if whole else "",
        )
        for name, value in metrics.items()
        if name.startswith("capital_") and name != "capital_cost_usd"
    ]
    lines += [
        (*show_metric(name, metrics[name]), "")
        for name in ("network_cost_usd", "power_w")
        if name in metrics
    ]
    return ReportSection(title="what it costs", lines=tuple(lines))


def _margins(constraints: dict[str, float], metrics: dict[str, float]) -> ReportSection:
    lines = []
    for name, violation in constraints.items():
        verdict = "broken" if violation > 0 else f"{-violation:.1%} to spare"
        lines.append((plain(name), verdict, ""))
    if "footprint_bytes" in metrics:
        _, used = show_metric("footprint_bytes", metrics["footprint_bytes"])
        share = f"{metrics['memory_fill']:.1%} of what there is" if "memory_fill" in metrics else ""
        lines.append(("memory per NPU", used, share))
    return ReportSection(title="constraints", lines=tuple(lines))


def _prices(trial: Trial, result: StudyResult) -> ReportSection:
    """Measures that the trial is best in, and prices that would change that."""
    lines = [
        (line, "", "")
        for found in price_sensitivity(result)
        if trial.number == found.winner
        for line in told(found)
    ]
    return ReportSection(title="prices", lines=tuple(lines))


def _neighbours(trial: Trial, result: StudyResult) -> list[ReportSection]:
    """The designs of the front that differ in the fewest knobs, and how."""
    parameters = result.study.space.parameters
    short = short_names(list(parameters))

    def changes(other: Trial) -> list[str]:
        names = [n for n in parameters if other.design.get(n) != trial.design.get(n)]
        return names

    front = [result.rows[index] for index in result.front]
    others = [row for row in front if row.design != trial.design]
    others.sort(key=lambda row: (len(changes(row)), row.number))
    sections = []
    for other in others[:NEIGHBOURS]:
        lines = [
            (OBJECTIVES[name].label, show_objective(name, value), "")
            for name, value in other.evaluation.objectives.items()
        ]
        lines += [
            (
                short[n],
                show_value(parameters[n], other.design.get(n)),
                f"here {show_value(parameters[n], trial.design.get(n))}",
            )
            for n in changes(other)
        ]
        title = f"on the front, {len(changes(other))} knobs away: trial {other.number}"
        sections.append(ReportSection(title=title, lines=tuple(lines)))
    return sections
