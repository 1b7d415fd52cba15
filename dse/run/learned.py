"""Designs that earlier studies teach, though of another machine, model or space.

An earlier study knows which plan and network went well together. Designs of its front are carried
over knob by knob: by value where this study has it, else by place in the list of values; the
nearest design that keeps this study's products and rules is evaluated. They are few, so that what
does not fit costs next to nothing; when the search is told of them: ``dse.run.lessons``.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import build_evaluator
from dse.proof.machines import machine_prices
from dse.results.result import StudyResult, load_study
from dse.run.start import run_value
from dse.samplers.design import GenomeSpace
from dse.space import Design, KnobBlock, Parameter, Value, design_key
from dse.study.compile import Study
from simcore import ConfigError

MOST = 8
"""Designs that are learned at most."""

_ABSENT, _ADDED, _OTHER = 1.0, 0.5, 0.25
"""Distances of a knob that a design lacks, of one that it has on top, and of one that the earlier
study does not know from the value of this study's run; the whole list of another knob is 1."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Designs that earlier studies teach.

    Attributes:
        designs: Of this study, the most promising first.
        digests: SHA-256 of the trials of each earlier study, by its folder as it was named.
    """

    designs: Sequence[Design] = ()
    digests: Mapping[str, str] = field(default_factory=dict)


def learned_designs(study: Study) -> Learned:
    """Designs that the studies of ``search.learn_from`` teach *study*.

    Raises:
        ConfigError: A folder holds no study.
    """
    names = study.file.search.learn_from
    if not names:
        return Learned()
    earlier = [_load(study, index, name) for index, name in enumerate(names)]
    fronts = [_spread([] if _is_opposed(one, study) else one.front, MOST) for one in earlier]
    found: dict[str, Design] = {}
    evaluator, prices = build_evaluator(study.evaluator_input), machine_prices(study)
    checks = evaluator.checks()
    for places in zip_longest(*fronts):  # each study in turn
        for one, place in zip(earlier, places, strict=True):
            design = None if place is None else carried_over(one, place, study)
            if design is None or not all(check.holds(design) for check in checks):
                continue
            if prices is None or prices.amounts(design) is not None:
                found.setdefault(design_key(evaluator.canonical(design)), design)
    digests = {name: digest_of(one) for name, one in zip(names, earlier, strict=True)}
    return Learned(designs=list(found.values())[:MOST], digests=digests)


def digest_of(earlier: StudyResult) -> str:
    """SHA-256 of the designs and outcomes of a study, however they are stored."""
    found = hashlib.sha256()
    for row in earlier.rows:
        told = [row.number, row.state, row.design, dict(row.evaluation.objectives)]
        found.update(json.dumps(told, sort_keys=True).encode())
    return found.hexdigest()


def carried_over(earlier: StudyResult, place: int, study: Study) -> Design | None:
    """The design of *study* nearest to the one at *place* of an earlier study; None: there is none.

    Rows of a block are compared by the sum of the distances of its knobs, each by the length of its
    list: what a product needs more of goes to the knob that has most room for it.
    """
    design, space = dict(earlier.rows[place].design), study.space
    genome = GenomeSpace(earlier.study.space).genome(design)
    if genome is None:
        return None
    count = min(space.dimensions, key=lambda own: (abs(own - genome.dimensions), own))
    goals = _Goals(design, earlier.study.space.parameters, space.parameters, study.file.run)
    rows = [_nearest_row(block, count, goals) for block in space.blocks]
    reals = {knob.name: goals.real(knob) for knob in space.continuous}
    found = space.design(count, rows, reals)
    return found if GenomeSpace(space).genome(found) is not None else None


def _is_opposed(earlier: StudyResult, study: Study) -> bool:
    """True if an earlier study sought the opposite in all objectives that both have."""
    theirs, ours = earlier.study.goals.objectives, study.goals.objectives
    shared = theirs.keys() & ours.keys()
    return bool(shared) and all(theirs[name] != ours[name] for name in shared)


def _load(study: Study, index: int, name: str) -> StudyResult:
    try:
        return load_study(Path(study.folder) / name)
    except ConfigError as error:
        at = f"search.learn_from[{index}]"
        rule = "must be the folder of a study that has been run"
        raise ConfigError(at, rule, got=f"{name} ({error})") from None


def _spread(front: Sequence[int], most: int) -> list[int]:
    """At most *most* of a front: its ends first, then what lies between, evenly."""
    if len(front) <= most:
        chosen = list(front)
    else:
        at = np.linspace(0, len(front) - 1, max(most, 1)).round().astype(int)
        chosen = [front[index] for index in dict.fromkeys(at.tolist())][:most]
    ends = [*chosen[:1], *chosen[:0:-1][:1]]
    return [*ends, *(one for one in chosen if one not in ends)]


def _nearest_row(block: KnobBlock, count: int, goals: "_Goals") -> int:
    """The first row of a block with the least distance."""
    codes = block.tables[count]
    distance = np.zeros(codes.shape[0])
    for column, name in enumerate(block.names):
        distance += goals.distances(name)[codes[:, column]]
    return int(distance.round(9).argmin())


class _Goals:
    """The knobs of an earlier design, as goals for those of another space."""

    def __init__(
        self,
        design: Design,
        theirs: Mapping[str, Parameter],
        ours: Mapping[str, Parameter],
        run: object,
    ) -> None:
        self._design, self._theirs, self._ours, self._run = design, theirs, ours, run

    def distances(self, name: str) -> Floats:
        """Distance of each choice of a knob, and a last one where it has no meaning."""
        knob = self._ours[name]
        if name not in self._theirs:
            usual = run_value(self._run, knob)
            return np.array([*(_OTHER * (one != usual) for one in knob.choices), 0.0])
        if name not in self._design:
            return np.array([*([_ADDED] * len(knob.choices)), 0.0])
        value, scale = self._design[name], knob.coordinates
        if scale is None:
            is_other = [float(one != value) for one in knob.choices]
            own = is_other if value in knob.choices else [0.0] * len(is_other)
        else:
            goal = self._place(name, knob, scale)
            own = (np.abs(scale - goal) / (np.ptp(scale) or 1.0)).tolist()
        return np.array([*own, _ABSENT])

    def _place(self, name: str, knob: Parameter, scale: Floats) -> float:
        """Coordinate on our scale: that of the value if we have it, else the same share of it."""
        value, theirs = self._design[name], self._theirs[name]
        if value in knob.choices:
            return float(scale[knob.choices.index(value)])
        share = _share(theirs, value)
        ends = sorted((float(scale[0]), float(scale[-1])))
        return ends[0] + share * (ends[1] - ends[0])

    def real(self, knob: Parameter) -> float:
        """Value of a continuous knob: theirs if it is in the range, else the same share of it."""
        if knob.name not in self._design:
            return knob.value_at(0.5)
        value = self._design[knob.name]
        if isinstance(value, int | float) and knob.low <= value <= knob.high:
            return float(value)
        return knob.value_at(_share(self._theirs[knob.name], value))


def _share(knob: Parameter, value: Value) -> float:
    """Place of a value in the range or list of its knob, 0 at its least and 1 at its greatest."""
    if knob.is_continuous:
        return knob.share_of(float(value))
    scale = knob.coordinates
    if scale is None or value not in knob.choices:
        return 0.5
    return float((scale[knob.choices.index(value)] - scale.min()) / (np.ptp(scale) or 1.0))
