"""Rules about designs that need no simulation: what is sold, what is consistent, what fits."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.designs.assign import bears_on_memory
from dse.space import Check, Design, Parameter, Value
from simcore import FactBook, InfeasibleError, Platform, Run, RunChecks, unbuildable


def design_checks(
    what: EvaluatorInput,
    platform: Callable[[Design], Platform],
    fits: Callable[[Design], bool],
) -> list[Check]:
    """The rules of parts, unless the study leaves them, and those of structure and memory.

    Args:
        what: The study.
        platform: The machine of a design.
        fits: True unless a design breaks a rule of structure or of memory.
    """
    in_memory = _knobs_where(what.parameters, bears_on_memory)
    found = [Check(holds=fits, deciding=in_memory)]
    return [physical_check(what, platform), *found] if what.physical else found


def physical_check(what: EvaluatorInput, platform: Callable[[Design], Platform]) -> Check:
    """The rule that a machine is made of parts that are sold; *platform*: the one of a design."""
    of_machine = _knobs_where(what.parameters, _bears_on_machine)
    return Check(holds=lambda one: unbuildable(platform(one)) is None, deciding=of_machine)


class RunFits:
    """The rules of structure and of memory of a study's runs, each asked for what decides it.

    A plan is held against the workload and the memory once, whatever the network, and once for all
    islands of a study; what is left to see for each shape of the network is where the plan's groups
    lie on it.
    """

    def __init__(
        self,
        what: EvaluatorInput,
        run: Callable[[Design], Run],
        checks: RunChecks | None = None,
    ) -> None:
        """Prepare the rules.

        Args:
            what: The study.
            run: The run that a design means.
            checks: Those of runs, with what is known of plans; None: nothing is.
        """
        self._what, self._run, self._checks = what, run, checks or RunChecks()
        in_memory = _knobs_where(what.parameters, bears_on_memory)
        self._of_plan = in_memory - _knobs_where(what.parameters, _bears_on_dimensions)
        self._of_shape = in_memory - _knobs_where(what.parameters, _bears_on_plan)
        self._plans: dict[_Key, _Plan | None] = {}
        self._facts = FactBook[_Key]()
        self._shapes: dict[_Key, tuple[int, ...]] = {}

    def checks(self) -> list[Check]:
        """The rules of parts, unless the study leaves them, and those of structure and memory."""
        knobs = map(self._what.parameters.__getitem__, self._of_plan)
        is_met_again = not any(knob.is_continuous for knob in knobs)
        facts = self._facts if is_met_again else None  # values of a range are hardly met twice
        found = [
            Check(holds=self._fits, deciding=self._of_plan, facts=facts),
            Check(holds=self._lies, deciding=self._of_plan | self._of_shape, facts=facts),
        ]
        if self._what.physical:
            found.insert(0, physical_check(self._what, lambda one: self._run(one).platform))
        return found

    def _fits(self, design: Design) -> bool:
        """True if the plan divides the workload and fits in memory."""
        return self._plan(design) is not None

    def _lies(self, design: Design) -> bool:
        """True if the groups of the plan lie on the dimensions."""
        plan, sizes = self._plan(design), self._sizes(design)
        if plan is None or plan.npus != prod(sizes):
            return False
        try:
            self._checks.places(plan.groups, sizes)
        except InfeasibleError:
            return False
        return True

    def _plan(self, design: Design) -> "_Plan | None":
        """Size and groups of the plan; None: it does not fit."""
        key = _key(design, self._of_plan)
        if key not in self._plans:
            self._plans[key] = self._facts.fact(key, lambda: self._plan_of(self._run(design)))
        return self._plans[key]

    def _plan_of(self, run: Run) -> "_Plan | None":
        goals, checks = self._what.goals, self._checks
        workload, platform, plan = run.workload, run.platform, run.plan
        try:
            groups = checks.groups(workload, plan)
            if goals.memory_margin is not None:
                checks.memory(workload, platform, plan, goals.memory_margin)
            if goals.needs_room and checks.fit(workload, platform, plan).is_short:
                return None
        except InfeasibleError:
            return None
        return _Plan(plan.npus, groups)

    def _sizes(self, design: Design) -> tuple[int, ...]:
        """NPUs of each dimension."""
        key = len(design), *_key(design, self._of_shape)
        if key not in self._shapes:
            dimensions = self._run(design).platform.dimensions
            self._shapes[key] = tuple([one.npus for one in dimensions])
        return self._shapes[key]


_latest: list[tuple[dict[str, str], RunChecks]] = []
"""Checks of the study that was asked about last, and its files."""


def checks_of(what: EvaluatorInput) -> RunChecks:
    """The checks of a study's runs, one for all of this process that ask about its plans.

    What checks a plan, what bounds it with each number of network dimensions and what simulates it
    at each level need the same programs. A study has one dict of files, wherever its parts are.
    """
    if not _latest or _latest[0][0] is not what.files:
        _latest[:] = [(what.files, RunChecks())]
    return _latest[0][1]


_Key = tuple[Value | None, ...]


class _Plan(NamedTuple):
    """Size of a plan, and its groups that have to lie on the machine."""

    npus: int
    groups: tuple[Any, ...]


def _key(design: Design, names: frozenset[str]) -> _Key:
    return tuple([design.get(name) for name in sorted(names)])


def _bears_on_dimensions(knob: Parameter) -> bool:
    """True if the knob is of network dimensions alone."""
    paths = knob.targets or (knob.name,)
    return all(path.startswith("platform.dimensions") for path in paths)


def _bears_on_plan(knob: Parameter) -> bool:
    """True if the knob is of the plan or the workload alone."""
    paths = knob.targets or (knob.name,)
    return all(path.startswith(("plan.", "workload.")) for path in paths)


def _bears_on_machine(knob: Parameter) -> bool:
    """True if what a machine is built of depends on *knob*."""
    return any(path.startswith("platform") for path in knob.targets or (knob.name,))


def _knobs_where(
    parameters: Mapping[str, Parameter], holds: Callable[[Parameter], bool]
) -> frozenset[str]:
    return frozenset(name for name, knob in parameters.items() if holds(knob))
