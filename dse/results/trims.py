"""Parts that designs of a front can do without for next to no time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dse.fidelity.compare import compared_rows
from dse.objectives import COST_METRICS, OBJECTIVES, SIMULATED
from dse.space import Design, Space, design_key
from dse.study.compile import Study
from dse.study.trials import Trial

LOSS = 0.005
"""Part of the time that a trim may cost."""

LEAST_GAIN = 0.001
"""Part of a cost that it has to save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    """A design that is another one with a step less on one ladder.

    Attributes:
        trial: Number of the design that is trimmed.
        trimmed: Number of the one that has less.
        knob: Name of the knob.
        loss: Part of the time that it costs; below 0: it saves time.
        objective: Name of the objective that it saves most of.
        gain: Part of that objective that it saves.
        saved: The same in the objective's unit.
    """

    trial: int
    trimmed: int
    knob: str
    loss: float
    objective: str
    gain: float
    saved: float


def trims_of_front(study: Study, rows: Sequence[Trial], front: Sequence[Trial]) -> list[Trim]:
    """The best trim of each design of *front* among *rows*, the largest gain first.

    Both are compared at the level that decides, where what settles the front was judged.
    """
    known = {design_key(row.design): row for _, row in compared_rows(study, rows)}
    trims = []
    for row in front:
        own = known.get(design_key(row.design))
        if own is None:
            continue
        steps = ((name, known.get(key)) for name, key in _steps(study.space, row.design))
        offers = [_trim(study, own, name, less) for name, less in steps if less is not None]
        worthwhile = [trim for trim in offers if trim is not None]
        if worthwhile:
            trims.append(max(worthwhile, key=lambda trim: (trim.gain, -trim.loss)))
    return sorted(trims, key=lambda trim: (-trim.gain, trim.trial))


def _steps(space: Space, design: Design) -> Iterator[tuple[str, str]]:
    """Names of knobs, and keys of the designs one step away on their ladders."""
    for name, parameter in space.parameters.items():
        value = design.get(name)
        if value is None or not parameter.is_ordered or value not in parameter.choices:
            continue
        at = parameter.choices.index(value)
        for other in (at - 1, at + 1):
            if 0 <= other < len(parameter.choices):
                yield name, design_key({**design, name: parameter.choices[other]})


def _trim(study: Study, own: Trial, knob: str, less: Trial) -> Trim | None:
    """*less* as a trim of *own*; None where it costs too much time, or saves nothing."""
    before, after = own.evaluation.objectives, less.evaluation.objectives
    loss, gains = 0.0, dict[str, float]()
    for name, sign in study.goals.signs_by_name.items():
        if not before[name]:
            continue
        change = sign * (after[name] - before[name]) / abs(before[name])
        if _is_machines(name):
            gains[name] = -change
        else:
            loss = max(loss, change)
    best = max(gains, key=lambda name: gains[name], default="")
    if not best or loss >= LOSS or gains[best] < LEAST_GAIN:
        return None
    return Trim(
        trial=own.number,
        trimmed=less.number,
        knob=knob,
        loss=loss,
        objective=best,
        gain=gains[best],
        saved=abs(before[best] - after[best]),
    )


def _is_machines(name: str) -> bool:
    """True if an objective is a cost of the machine alone."""
    metrics = set(OBJECTIVES[name].metrics)
    return bool(metrics & COST_METRICS) and not metrics & SIMULATED
