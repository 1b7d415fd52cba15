"""Breakdowns of the front: what time, cost, power and memory of its designs are made of."""

from collections.abc import Iterator, Sequence
from typing import Any

from dse.evaluate import Evaluator
from dse.evaluate.money import CostMeter
from dse.report.amounts import plain, said_unit
from dse.results.result import StudyResult
from dse.study.trials import Trial
from simcore import InfeasibleError, footprint

MOST = 20
"""Designs of the front that breakdowns show: the recommended ones, and others along it."""

_TIMES = {
    "compute_forward_s": "forward",
    "compute_recompute_s": "recompute",
    "compute_backward_s": "backward",
    "compute_gradients_s": "gradients",
    "compute_optimizer_s": "optimizer",
}
_WAITS = {"bubble_s": "waiting for other stages"}
_WHOLE = ("_low_usd", "_high_usd")


def shown_front(result: StudyResult) -> list[Trial]:
    """Designs of the front that breakdowns show, in its order."""
    front = [result.rows[at] for at in result.front]
    if len(front) <= MOST:
        return front
    wanted = {one.trial for one in result.recommended}
    room = MOST - len(wanted)
    others = [row.number for row in front if row.number not in wanted]
    wanted |= {others[round(i * (len(others) - 1) / max(room - 1, 1))] for i in range(room)}
    return [row for row in front if row.number in wanted]


def breakdowns(result: StudyResult, evaluator: Evaluator) -> list[dict[str, Any]]:
    """Breakdowns as plain data: title, unit, numbers of trials, and parts with a value for each.

    Args:
        result: The study.
        evaluator: Of the level that the front was judged at.
    """
    rows, study = shown_front(result), result.study
    cost = None if study.goals.scenarios else study.file.cost  # scenarios have prices of their own
    meter = None if cost is None else CostMeter(cost, study.goals, study.folder)
    memory = [_memory(evaluator, row) for row in rows]
    found = (
        ("time of one iteration", "s", [dict(_time(row)) for row in rows]),
        ("capital cost", "USD", [dict(_cost(row, "capital")) for row in rows]),
        ("network cost", "USD", [dict(_cost(row, "network")) for row in rows]),
        ("power", "W", [_power(meter, evaluator, row) for row in rows]),
        ("memory of the fullest accelerator", "B", memory),
    )
    numbers = [row.number for row in rows]
    return [
        {"title": title, "unit": said_unit(unit)[1], "trials": numbers, "parts": _parts(each)}
        for title, unit, each in found
        if any(each)
    ]


def _parts(each: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """Parts with their values, those that are nothing everywhere left out."""
    names = dict.fromkeys(name for one in each for name in one)
    return [
        {"name": name, "values": [float(f"{one.get(name, 0.0):.5g}") for one in each]}
        for name in names
        if any(one.get(name) for one in each)
    ]


def _time(row: Trial) -> Iterator[tuple[str, float]]:
    metrics = row.evaluation.metrics
    for name, told in _TIMES.items():
        if name in metrics:
            yield told, metrics[name]
    for name, value in metrics.items():
        if name.startswith("exposed_") and name.endswith("_s") and "@" not in name:
            axis = name.removeprefix("exposed_").removesuffix("_s")
            if axis != "communication":
                yield f"communication of {plain(axis)}", value
    for name, told in _WAITS.items():
        if name in metrics:
            yield told, metrics[name]


def _cost(row: Trial, of: str) -> Iterator[tuple[str, float]]:
    for name, value in row.evaluation.metrics.items():
        is_part = name.startswith(f"{of}_") and name.endswith("_usd") and "@" not in name
        if is_part and name != f"{of}_cost_usd" and not name.endswith(_WHOLE):
            yield plain(name.removeprefix(f"{of}_").removesuffix("_usd")), value


def _power(meter: CostMeter | None, evaluator: Evaluator, row: Trial) -> dict[str, float]:
    """Power by part, where it is that of a machine that the study prices."""
    if meter is None or "power_w" not in row.evaluation.metrics:
        return {}
    machine = evaluator.priced(row.design, row.evaluation.metrics)
    if machine is None:
        return {}
    return {plain(name): watts for name, watts in meter.power(machine.platform).parts.items()}


def _memory(evaluator: Evaluator, row: Trial) -> dict[str, float]:
    """Tensors of the fullest NPU, of the run whose NPUs are the fullest."""
    try:
        found = [footprint(run.workload, run.plan) for run in evaluator.runs(row.design).values()]
    except InfeasibleError:  # of a row that says so itself
        return {}
    if not found:
        return {}
    return dict(max(found, key=lambda one: one.total_bytes).parts())
