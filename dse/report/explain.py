"""Explanation of one design's speed, costs and feasibility."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dse.objectives import OBJECTIVES
from dse.provenance import Provenance, changed_since
from dse.reasons import explain_design, explanation_data
from dse.reasons.what_if import time_and_cost
from dse.report.amounts import plain, short_names, show_metric, show_objective, show_value
from dse.report.baseline import RUN, against
from dse.report.measured import design_band
from dse.report.prices import price_sensitivity, told
from dse.report.sections import ReportSection
from dse.report.traffic import traffic_section
from dse.report.why import offer_section, time_sections, what_if_sections
from dse.results.result import StudyResult
from dse.space import design_key
from dse.study.compile import Study
from dse.study.memory_marks import memory_mark, memory_told
from dse.study.trials import Trial
from simcore import ConfigError, files_kept


def explain_trial(result: StudyResult, number: int) -> list[ReportSection]:
    """Evaluate a trial again and say what its objectives are made of, and why.

    Args:
        result: The study.
        number: Of the trial.

    Raises:
        ConfigError: There is no such trial.
    """
    trial, result, own = _asked(result, number)
    changed = tuple((line, "", "") for line in changed_since(own))
    with files_kept(result.study.files):
        sections = _sections(trial, result)
    sections.insert(1, ReportSection(title="changed since", lines=changed))
    return [section for section in sections if section.lines]


def trial_data(result: StudyResult, number: int) -> dict[str, Any]:
    """``explain_trial`` as plain data, for JSON.

    Raises:
        ConfigError: There is no such trial.
    """
    trial, result, own = _asked(result, number)
    with files_kept(result.study.files):
        found = explain_design(_judged(trial, result.study), trial.design)
    return {
        "trial": trial.number,
        "design": dict(trial.design),
        "changed_since": list(changed_since(own)),
        **explanation_data(result.study.goals, found),
    }


def _asked(result: StudyResult, number: int) -> tuple[Trial, StudyResult, Sequence[Provenance]]:
    """The trial, the study with the files that it was evaluated with, and its provenance."""
    rows = {row.number: row for row in result.rows}
    if number not in rows:
        rule = "must be a trial, and the study has none"
        if rows:
            rule = f"must be one of the trials 0 to {max(rows)}"
        raise ConfigError("TRIAL", rule, got=number)
    trial = rows[number]
    own = result.provenances[trial.provenance : trial.provenance + 1]
    files = own[0].texts() if own else result.study.files
    return trial, replace(result, study=replace(result.study, files=files)), own


def _sections(trial: Trial, result: StudyResult) -> list[ReportSection]:
    found = explain_design(_judged(trial, result.study), trial.design)
    evaluation = found.evaluation
    metrics = dict(evaluation.metrics)
    mark = memory_mark(metrics)
    gist = tuple((text, "", "") for text in (found.sentence, mark and f"memory {mark}") if text)
    sections = [ReportSection(title=f"trial {trial.number}", lines=gist), _design(trial, result)]
    if trial.state == "pruned":
        lines = ((trial.evaluation.reason, "", "its values are worked out only now"),)
        sections.append(ReportSection(title="pruned", lines=lines))
    if evaluation.reason:
        sections.append(ReportSection(title=evaluation.state, lines=((evaluation.reason, "", ""),)))
    sections.append(_objectives(trial, result, dict(evaluation.objectives)))
    sections.append(_baseline(trial, result))
    known = _numbers(trial, result)
    sections.append(offer_section(result.study, trial.design, found.what_ifs, known))
    notes = tuple((note, "", "") for note in evaluation.notes)
    sections.append(ReportSection(title="notes", lines=notes))
    sections.append(_levels(trial, result))
    sections += time_sections(found.attributions)
    sections.append(_use(metrics))
    sections.append(traffic_section(trial, result, metrics))
    sections.append(_cost(metrics))
    sections.append(_margins(dict(evaluation.constraints), metrics))
    timed, _ = time_and_cost(result.study.goals)
    label = OBJECTIVES[timed].label if timed else "time"
    band = ((label, design_band(result, trial.design), ""),)
    sections.append(ReportSection(title="measured against", lines=band))
    sections.append(_prices(trial, result))
    sections += what_if_sections(result.study, found.what_ifs)
    return sections


def _numbers(trial: Trial, result: StudyResult) -> dict[str, int]:
    """Numbers of the trials that were judged at the level of *trial*, by the keys of designs."""
    level = trial.evaluation.fidelity
    rows = (row for row in reversed(result.rows) if row.evaluation.fidelity == level)
    return {design_key(row.design): row.number for row in rows}


def _judged(trial: Trial, study: Study) -> Study:
    """*study* at the level that *trial* was judged at."""
    level = trial.evaluation.fidelity
    return study.judged_at(level) if level in study.levels else study


def _design(trial: Trial, result: StudyResult) -> ReportSection:
    parameters = result.study.space.parameters
    short = short_names(list(parameters))
    lines = [(short[n], show_value(parameters[n], v), "") for n, v in trial.design.items()]
    return ReportSection(title=f"knobs of trial {trial.number}", lines=tuple(lines))


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


def _baseline(trial: Trial, result: StudyResult) -> ReportSection:
    told = against(result, trial)
    return ReportSection(title=RUN, lines=((told, "", ""),) if told else ())


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


def _use(metrics: dict[str, float]) -> ReportSection:
    """Use of the accelerators and of the links."""
    lines = [
        (name.upper(), f"{metrics[name]:.1%}", "") for name in ("mfu", "hfu") if name in metrics
    ]
    for name, value in metrics.items():
        if name.startswith("utilization_"):
            lines.append((f"links of {name.removeprefix('utilization_')}", f"{value:.1%}", "busy"))
    return ReportSection(title="use of the machine", lines=tuple(lines))


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
        lines.append(("memory per NPU", used, memory_told(metrics)))
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
