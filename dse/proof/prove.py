"""Proofs that nothing much better exists: ask for designs until that is certain."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Evaluation
from dse.rank.pareto import Front, no_worse, non_dominated
from dse.space import Design, design_key
from dse.study.compile import Study

Floats = NDArray[np.float64]

Flags = NDArray[np.bool_]

Values = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proof:
    """Designs that were found, and bounds of what can exist.

    Attributes:
        objectives: Names.
        signs: +1 for each objective that is minimised, -1 for each that is maximised.
        designs: The non-dominated ones among those simulated.
        values: (designs, objectives) of them.
        possible: (N, objectives) points of which no design is better than all; with *values* they
            bound the front that could exist.
        lower_bounds: Per objective, what no design goes below; above, where it is maximised.
        gaps: Per objective, ``(best - bound) / best``, where it is maximised ``(bound - best) /
            bound``; 1 where nothing was found.
        is_closed: Whether the gap that was asked for is proven.
        simulations: Designs that were asked for.
        seconds: CPU seconds since the proof began.
    """

    objectives: tuple[str, ...]
    signs: tuple[int, ...]
    designs: tuple[Design, ...]
    values: Floats
    possible: Floats
    lower_bounds: tuple[float, ...]
    gaps: tuple[float, ...]
    is_closed: bool
    simulations: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached:
    """State of a proof, or of a part of one.

    Attributes:
        possible: (N, objectives) points of which no design is better than all, but for those that
            were simulated; with the signs of their objectives, so that less is better.
        is_closed: Whether the gap that was asked for is proven.
        simulations: Designs that were asked for.
    """

    possible: Floats
    is_closed: bool
    simulations: int


@dataclass(slots=True, eq=False)
class Found:
    """Designs that were simulated, and points that nothing was found to go below.

    Attributes:
        near: (objectives,) factors of the values of a design, beyond which none is looked for.
        front: The best designs, with signed values.
        given_up: Signed points.
    """

    near: Floats
    front: Front[Design] = field(default_factory=Front)
    given_up: list[Values] = field(default_factory=list)

    def covers(self, values: Floats) -> Flags:
        """(N,) whether a design found is as good, but for the gap, in all objectives."""
        covered = np.zeros(len(values), np.bool_)
        for point in self.front.points:  # few, of perhaps very many values
            covered |= no_worse(point * self.near, values)
        return covered

    def give_up(self, values: Floats) -> None:
        """Remember what designs that are not looked at may reach."""
        reachable = values[(values < inf).all(axis=1)]
        points = np.array([*self.given_up, *reachable.tolist()])
        if points.size:
            self.given_up = [tuple(p) for p in points[non_dominated(points)].tolist()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A design to be simulated; *values* (1, objectives): what it may reach.

    Beside one of a *cell* lie others, which may reach as much and are never asked for.
    """

    design: Design
    values: Floats
    in_cell: bool = False


class Prover(ABC):
    """Proof about the designs of a study, one step at a time.

    Whoever drives it simulates what it asks for, in any order and beside other designs, and tells
    it every outcome, also of designs that it did not ask for. Values have the signs of their
    objectives, so that less is better.
    """

    def __init__(
        self,
        study: Study,
        gap: float,
        canonical: Callable[[Design], Design],
        is_elsewhere: Callable[[Design], bool],
    ) -> None:
        """Begin; see ``prover_of``."""
        self._ranges = frozenset(knob.name for knob in study.space.continuous)
        self._study, self._canonical = study, canonical
        self._is_elsewhere = is_elsewhere
        self._begin_s = time.process_time()
        self._signs = np.array(study.goals.signs, np.float64)
        factor = 1 / (1 - gap) if gap < 1 else inf
        near = np.where(self._signs > 0, 1 - gap, factor)
        self._found = Found(near)
        self._lost = Found(near)  # what designs may reach beside those that were simulated
        self._cells = 0
        self._candidates: deque[Candidate] = deque()
        self._asked: dict[str, Candidate] = {}
        self._known: set[str] = set()  # asked for, or with an outcome
        self._failed: set[str] = set()
        self._simulations = 0
        self._has_begun = self._is_torn = False

    @abstractmethod
    def advance(self) -> bool:
        """Look at what is most promising; false if there is nothing left to look at."""

    @abstractmethod
    def _unseen(self) -> Sequence[Floats]:
        """Values, each (N, objectives), that designs reach at best which were not looked at."""

    @property
    def is_closed(self) -> bool:
        """True if the gap is proven."""
        if not self._has_begun or self._candidates or self._asked or self._is_torn:
            return False
        return not self._unseen() and not len(self._lost_points())

    def ask(self) -> Design | None:
        """A design to simulate; None if more boxes must be looked at first."""
        while self._candidates:
            candidate = self._candidates.popleft()
            key = self._key(candidate.design)
            if key in self._known:
                self._pass_over(candidate)
            elif self._found.covers(candidate.values)[0]:
                self._found.give_up(candidate.values)
            elif key in self._failed:
                self._tear(candidate)
            elif self._is_elsewhere(candidate.design):
                self._pass_over(candidate)
            else:
                self._asked[key] = candidate
                self._known.add(key)
                if candidate.in_cell:
                    self._found.give_up(candidate.values)
                self._simulations += 1
                return candidate.design
        return None

    def learn(self, design: Design, evaluation: Evaluation) -> None:
        """The outcome of any design of the study, which will not be asked for any more."""
        key = self._key(design)
        candidate = self._asked.pop(key, None)
        if evaluation.state == "failed":
            self._failed.add(key)
            if candidate is not None:
                self._tear(candidate)
            return
        self._known.add(key)
        if evaluation.state == "complete":
            names = self._study.goals.objectives
            point = np.array([evaluation.objectives[name] for name in names]) * self._signs
            self._found.front.add(design, point.tolist())
        if candidate is not None and candidate.in_cell:
            self._lost.give_up(candidate.values)
            self._cells += 1

    def _pass_over(self, candidate: Candidate) -> None:
        """Do not ask for what is known; of a cell it says nothing about what lies beside."""
        if candidate.in_cell:
            self._found.give_up(candidate.values)
            self._lost.give_up(candidate.values)

    def _lost_points(self) -> Floats:
        """(N, objectives) that designs of cells may reach, and none found is near enough to."""
        points = np.array(self._lost.given_up).reshape(-1, len(self._study.goals.objectives))
        lost: Floats = points[~self._found.covers(points)]
        return lost

    def _tear(self, candidate: Candidate) -> None:
        """Nobody knows how good *candidate* is: the proof has a hole."""
        self._is_torn = True
        self._found.give_up(candidate.values)

    def _key(self, design: Design) -> str:
        known = self._canonical(design)
        if self._ranges:  # samplers move values by their rounding
            known = {n: f"{v:.9e}" if n in self._ranges else v for n, v in known.items()}
        return design_key(known)

    def reached(self) -> Reached:
        """State so far."""
        objectives = len(self._signs)
        possible = nothing_known(self._study.goals.signs)
        if self._has_begun:
            unseen = self._unseen()
            pending = [own.values for own in (*self._candidates, *self._asked.values())]
            given_up = np.array(self._found.given_up).reshape(-1, objectives)
            possible = np.concatenate([given_up, *unseen, *pending])
        return Reached(
            possible=possible[non_dominated(possible)],
            is_closed=self.is_closed,
            simulations=self._simulations,
        )

    def proof(self) -> Proof:
        """Proof so far."""
        return proof_of(
            self._study.goals.signs_by_name,
            self._found.front,
            self.reached(),
            time.process_time() - self._begin_s,
        )


def nothing_known(signs: Sequence[int]) -> Floats:
    """(1, objectives) signed point that no design is better than, whatever it is."""
    return np.where(np.array([signs]) > 0, 0.0, -inf)


def share_between(best: float, least: float) -> float:
    """Share by which a design could be better at most than the best one found.

    Args:
        best: Its signed value; infinite where none was found.
        least: Signed value that no design is below.
    """
    if best == least and best < inf:
        return 0.0
    if best == inf or least == -inf:
        return 1.0
    return 1 - (least / best if best > 0 else best / least)


def proof_of(
    signs_by_name: Mapping[str, int], front: Front[Design], reached: Reached, seconds: float
) -> Proof:
    """The proof that a front and what nothing was found to go below make together.

    Args:
        signs_by_name: +1 for each objective that is minimised, -1 for each that is maximised.
        front: Designs that were found, with signed values.
        reached: What is proven beside them.
        seconds: CPU seconds that it took.
    """
    signs = np.array([*signs_by_name.values()], np.float64)
    values, possible = front.points.reshape(-1, len(signs)), reached.possible
    best = values.min(axis=0, initial=inf)
    least = np.minimum(best, possible.min(axis=0, initial=inf))
    gaps = [share_between(*pair) for pair in zip(best.tolist(), least.tolist(), strict=True)]
    return Proof(
        objectives=tuple(signs_by_name),
        signs=tuple(signs_by_name.values()),
        designs=tuple(front.kept),
        values=values * signs,
        possible=possible * signs,
        lower_bounds=tuple((least * signs).tolist()),
        gaps=tuple(gaps),
        is_closed=reached.is_closed,
        simulations=reached.simulations,
        seconds=seconds,
    )
