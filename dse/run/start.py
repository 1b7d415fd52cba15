"""The designs that a study starts with: by hand, by a closed form, or from another's front."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dse.evaluate import build_evaluator
from dse.results.result import load_study
from dse.samplers.design import GenomeSpace
from dse.space import Design, KnobBlock, Parameter, Space, Value, completed, design_key, slot_of
from dse.study.compile import Study
from simcore import ConfigError, InfeasibleError, get_path, parse_quantity

ANALYTIC = "analytic"
"""Word for designs whose bandwidth is split in proportion to what is sent."""


def starting_designs(study: Study) -> list[Design]:
    """Designs of ``search.start`` of the study file.

    Raises:
        ConfigError: A folder without a study, a knob or a value that the space does not have, or a
            design that breaks a rule.
    """
    space, names = GenomeSpace(study.space), tuple(study.space.parameters)
    result = list[Design]()
    for index, item in enumerate(study.file.search.start):
        at = f"search.start[{index}]"
        if item == ANALYTIC:
            result += [d for d in balanced_designs(study) if space.genome(d) is not None]
            continue
        if isinstance(item, str):
            try:
                other = load_study(Path(study.folder) / item)
            except ConfigError as error:
                rule = "must be the folder of a study that has been run"
                raise ConfigError(at, rule, got=f"{item} ({error})") from None
            found = [dict(other.rows[row].design) for row in other.front]
        else:
            given = _design(item, study.space.parameters, at)
            found = [completed(study.space.blocks, study.space.parameters, given)]
        for design in found:
            if space.genome(design) is None:
                raise ConfigError(at, "must be a design of the space", got=design)
            result.append({name: design[name] for name in names if name in design})
    return result


def _design(item: Mapping[str, Value], parameters: Mapping[str, Parameter], at: str) -> Design:
    values: Design = {}
    for name, value in item.items():
        if name not in parameters:
            raise ConfigError(at, f"knobs are {', '.join(parameters)}", got=name)
        unit = parameters[name].unit
        try:
            is_text = unit is not None and isinstance(value, str)
            values[name] = parse_quantity(str(value), str(unit)) if is_text else value
        except ValueError as error:
            raise ConfigError(f"{at}.{name}", str(error), got=value) from None
    return values


_BANDWIDTH = ".bandwidth"


def balanced_designs(study: Study) -> list[Design]:
    """Per number of network dimensions, one design for each rung of the busiest one's ladder.

    Raises:
        ConfigError: The study has no bandwidths to split, or its evaluator does not count bytes.
    """
    evaluator = build_evaluator(study.evaluator_input)
    knobs = [p for p in study.space.parameters.values() if _paths(p)]
    rule = "needs an evaluator that counts bytes, and bandwidths of dimensions among the knobs"
    refused = ConfigError("search.start", rule, got="analytic")
    if not knobs:
        raise refused
    found: dict[str, Design] = {}
    for count, slots in study.space.dimensions.items():
        base = _nearest(study, count)
        try:
            sent = evaluator.sent_bytes(base)
        except InfeasibleError:
            continue
        if not sent:
            raise refused
        for design in _balanced(base, knobs, dict(zip(slots, sent, strict=True))):
            found.setdefault(design_key(design), design)
    return list(found.values())


def _paths(knob: Parameter) -> list[str]:
    return [path for path in knob.targets or (knob.name,) if path.endswith(_BANDWIDTH)]


def _balanced(base: Design, knobs: Sequence[Parameter], sent: dict[int, float]) -> list[Design]:
    """*base* with bandwidths in proportion to what each dimension sends."""
    loads = {}
    for knob in knobs:
        slots = [slot for path in _paths(knob) if (slot := slot_of(path)) in sent]
        if knob.name in base and slots:
            loads[knob.name] = max(sent[slot] for slot in slots if slot is not None)
    busiest = max(loads, key=lambda name: loads[name], default="")
    if not busiest or not loads[busiest]:
        return []
    own = {knob.name: knob for knob in knobs}
    designs = []
    for rung in _rungs(own[busiest]):
        rates = {name: rung * load / loads[busiest] for name, load in loads.items()}
        designs.append({**base, **{name: _at(own[name], rate) for name, rate in rates.items()}})
    return designs


def _rungs(knob: Parameter) -> list[float]:
    if knob.is_continuous:
        return [knob.value_at(share) for share in np.linspace(0, 1, 5)]
    return [float(value) for value in knob.choices if not isinstance(value, str)]


def _at(knob: Parameter, rate: float) -> Value:
    """The value nearest to *rate*, on a logarithmic scale."""
    if knob.is_continuous:
        return min(max(rate, knob.low), knob.high)
    least = 1e-30  # a dimension that sends nothing gets the first rung
    return min(knob.choices, key=lambda value: abs(np.log(float(value) / max(rate, least))))


def _nearest(study: Study, count: int) -> Design:
    """The design of the space that shares most values with the run."""
    space = study.space
    values = {name: run_value(study.file.run, p) for name, p in space.parameters.items()}
    return space.design(count, [_row(space, block, count, values) for block in space.blocks])


def _row(space: Space, block: KnobBlock, count: int, values: Mapping[str, Value | None]) -> int:
    """The row of a block with most knobs at *values*; the first of several."""
    codes = block.tables[count]
    alike = np.zeros(codes.shape[0], np.int64)
    for column, name in enumerate(block.names):
        choices = space.parameters[name].choices
        if values[name] in choices:
            alike += codes[:, column] == choices.index(values[name])
    return int(alike.argmax())


def run_value(run: object, knob: Parameter) -> Value | None:
    """Value of a run file at the place of a knob, in its base unit; None where it has none."""
    path = (knob.targets or (knob.name,))[0]
    try:
        value = get_path(run, path)
    except ConfigError:
        return None
    if isinstance(value, str) and knob.unit is not None:
        return parse_quantity(value, knob.unit)
    return value if isinstance(value, bool | int | float | str) else None
