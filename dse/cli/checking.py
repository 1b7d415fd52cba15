"""``dse check``: what a study would search.

By itself in a file, since a check is run often and the other commands import far more.
"""

from collections.abc import Mapping
from typing import Any

import click

from dse.cli.budget import told_budget
from dse.objectives import OBJECTIVES
from dse.proof.designs import why_blind
from dse.proof.listed.checks import is_listed
from dse.report.amounts import show_amount
from dse.run.api import check_searched, places_of
from dse.run.asked import takes_all
from dse.study.compile import Study
from simcore import ConfigError

_IN_TURN = ("design", "exhaustive")
"""Samplers that take all designs in turn where the trials suffice for that."""


def check_command(file: str, overrides: Mapping[str, Any], *, timed: bool = False) -> None:
    """Print what ``dse check`` tells.

    Args:
        file: The study.
        overrides: Arguments of ``run_study`` in place of what the file says.
        timed: Whether to try the study out for some seconds, too.
    """
    study = check_searched(file, places_of(overrides))
    lessons = _check_beginning(study, file)
    counts = study.space.counts
    lines = [
        ("question", study.file.question or "-"),
        ("raw combinations", f"{counts.raw:,}"),
        ("valid designs", f"{counts.valid:,}"),
    ]
    if counts.searched != counts.valid:
        lines.append(("searched designs", f"{counts.searched:,}"))
    if counts.continuous:
        lines.append(("knobs with a range", f"{counts.continuous} (each counted once)"))
    lines.append(("chance of a raw draw", f"{counts.valid / counts.raw:.3%}"))
    lines += _goals(study)
    search, execution = study.file.search, study.file.execution
    lines += _search(study, lessons)
    blind = why_blind(study)
    if len(study.levels) > 1:
        best = f"the front, the best up to {search.promote}, {search.controls} of the others"
        best += f", at most {search.settle} that settle the front"
        lines.append(("judged again", f"{best}: {' -> '.join(study.levels)}"))
    lines.append(("pruned", f"nothing: {blind}" if blind else "designs that their bounds rule out"))
    lines += _gap(study)
    lines.append(("evaluator", f"{study.file.evaluator} on {execution.executor}"))
    if timed:
        from dse.cli.trying import try_out  # a check alone starts without all that simulates

        lines += try_out(study)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        click.echo(f"{name.ljust(width)}  {value}")


def _check_beginning(study: Study, file: str) -> int:
    """See whether there are the designs and the studies that the search is to begin with.

    Returns:
        Designs that earlier studies teach.

    Raises:
        ConfigError: A folder holds no study, or a design is none of the space.
    """
    if not (study.file.search.start or study.file.search.learn_from):
        return 0  # a check alone starts without all that reads studies
    from dse.run.learned import learned_designs
    from dse.run.start import starting_designs

    try:
        starting_designs(study)
        return len(learned_designs(study).designs)
    except ConfigError as error:
        raise error.in_file(file) from None


def _search(study: Study, lessons: int) -> list[tuple[str, str]]:
    search = study.file.search
    islands = f", {search.islands} islands" if search.islands > 1 else ""
    told = f"{search.sampler}, {_trials(study)}, seed {study.file.seed}{islands}"
    lines = [("search", told)]
    if lessons:
        is_whole = search.sampler in _IN_TURN and takes_all(study)
        when = "before all others" if is_whole else "on top of the trials"
        if search.islands > 1:
            when = "once islands have made 200 trials, or behind all"
        lines.append(("learned", f"{lessons} designs of earlier studies, evaluated {when}"))
    if enough := told_budget(study):
        lines.append(("trials needed", enough))
    return lines


def _trials(study: Study) -> str:
    search = study.file.search
    told = f"{search.most_trials:,} trials"
    if search.is_open:
        told = f"until the front improves no more (at most {told})"
    for share, of in ((search.gap, "gap"), (search.hypervolume_gap, "gap of the front")):
        if share is not None:
            told += f", or until a {of} of {100 * share:.3g}% is proven"
    return told


def _gap(study: Study) -> list[tuple[str, str]]:
    if not study.file.search.asks_gap or is_listed(study):
        return []  # a check alone starts without all that makes runs of designs
    from dse.proof.left_out import why_wide

    return [("gap", why)] if (why := why_wide(study)) else []


def _goals(study: Study) -> list[tuple[str, str]]:
    lines = []
    for name, sense in study.goals.objectives.items():
        unit = OBJECTIVES[name].unit
        lines.append(("objective", f"{sense} {name}" + (f" ({unit})" if unit else "")))
    for scenario in study.file.scenarios:
        lines.append(("scenario", f"{scenario.name} (weight {scenario.weight:g})"))
    if study.file.scenarios:
        lines.append(("aggregate", study.file.aggregate))
    for limit in study.goals.limits:
        bound = show_amount(limit.bound, limit.metric.unit)
        lines.append(("constraint", f"{limit.name} ({limit.sense.replace('_', ' ')} {bound})"))
    return lines
