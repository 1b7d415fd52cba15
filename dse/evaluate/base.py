"""Evaluators, and their accounts of a design."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar, Literal

import simcore
from dse.evaluate.failure import Failure, OwnCodeError, one_line, reason_of
from dse.evaluate.levers import Moved
from dse.evaluate.metrics import Metrics, check_finite, check_metrics
from dse.evaluate.priced import MachineCosts, PricedMachine
from dse.evaluate.siblings import Siblings
from dse.objectives import Goals, Sense
from dse.space import Check, Design, Parameter, Value
from simcore import InfeasibleError, Run

State = Literal["complete", "infeasible", "failed", "pruned"]

BOUND = "bound"
"""Fidelity of designs that were not evaluated: their objectives are lower bounds."""


@dataclass(frozen=True, slots=True)
class Account:
    """An evaluator's account of a design.

    Attributes:
        metrics: Numbers, with units in their names.
        notes: What the reader should know of them, as sentences.
    """

    metrics: Mapping[str, float]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The outcome of one design.

    Attributes:
        state: As it ended; ``pruned`` is not evaluated, as a better design is proven to be known.
        objectives: Values by name; empty if the design was not evaluated.
        constraints: Violations by name; 0 or less is feasible.
        metrics: Everything else that the evaluator reports, with units in the names.
        fidelity: Which model gave the numbers.
        notes: What the reader should know of the numbers.
        reason: Why it is infeasible or failed.
        failure: Class of the failure; empty unless it failed.
        attempts: How often it was tried.
        duration_s: Time in the worker.
    """

    state: State
    objectives: Mapping[str, float] = field(default_factory=dict)
    constraints: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    fidelity: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""
    failure: Failure = ""
    attempts: int = 1
    duration_s: float = 0.0

    @property
    def is_measured(self) -> bool:
        """True if the evaluator gave the objectives."""
        return bool(self.objectives) and self.fidelity != BOUND

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as plain values: five times as fast as what dataclasses do by themselves."""
        return _evaluation, _values_of(self)


_values_of = attrgetter(*(field.name for field in fields(Evaluation)))


def _evaluation(*values: Any) -> Evaluation:
    state, objectives, constraints, metrics, fidelity, notes, why, failure, tries, time_s = values
    return Evaluation(  # written out: the driver makes thousands a second
        state=state, objectives=objectives, constraints=constraints, metrics=metrics, notes=notes,
        fidelity=fidelity, reason=why, failure=failure, attempts=tries, duration_s=time_s,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioInput:
    """One of the circumstances under which every design of a study is evaluated.

    Attributes:
        name: Of the scenario.
        run: The run file's content, in place of the study's.
        cost: The ``cost`` part, in place of the study's.
        bandwidth: Share of every link's bandwidth that can be used; the whole link is paid for.
    """

    name: str
    run: Mapping[str, Any]
    cost: Mapping[str, Any] | None
    bandwidth: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMetrics:
    """Code of a user's that gives metrics of its own, once an evaluator has given its.

    Attributes:
        name: Of the code, for messages.
        gives: Names of its metrics, which end in their units.
        function: ``package.module:function``, or empty.
        command: A program and its arguments, or empty.
        expression: Of knobs, values of the run and metrics, or empty.
        timeout_s: The most time that one call may take.
        memory_bytes: The most address space that its process may take; 0: no limit.
    """

    name: str
    gives: tuple[str, ...]
    function: str = ""
    command: tuple[str, ...] = ()
    expression: str = ""
    timeout_s: float = 60.0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorInput:
    """All that an evaluator is built from, as plain data that any worker can receive.

    Attributes:
        name: The evaluator's name in ``EVALUATORS``.
        run: The run file's content: what the knobs do not set.
        folder: Folder that relative paths in *run* start from, or empty.
        parameters: The knobs.
        dimensions: Positions of the run's list that stay, by the number of network dimensions.
        goals: Objectives and limits.
        cost: The ``cost`` part of the study, or None.
        scenarios: What changes from one evaluation of a design to the next; empty: there is one.
        bandwidth: As of a scenario.
        fidelity: The level of the study that this judges at; empty: it has one.
        calibration: File of a site's own runs, as a path from *folder*; empty: there is none.
        physical: Refuse machines that cannot be built.
        own: Code of the user's that gives further metrics, in this order.
        files: Texts of files named above, by absolute path; others are read, and kept here.
        tied: ``Space.tied``, where knobs are checked.
    """

    name: str
    run: Mapping[str, Any]
    folder: str
    parameters: Mapping[str, Parameter]
    dimensions: Mapping[int, tuple[int, ...]]
    goals: Goals
    cost: Mapping[str, Any] | None = None
    scenarios: tuple[ScenarioInput, ...] = ()
    bandwidth: float = 1.0
    fidelity: str = ""
    calibration: str = ""
    physical: bool = True
    own: tuple[OwnMetrics, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    tied: Callable[[str, Value], tuple[Design, int] | None] | None = None


class Evaluator(ABC):
    """Turns a design into metrics; ``evaluator`` of a study names a class.

    One object is made of an ``EvaluatorInput`` in the process of the search, which asks ``check``
    and what is known of designs beforehand, and one in each worker, which asks ``account`` of one
    design after the other, and again where an evaluation was lost. What it answers depends on
    nothing but the input and the design.

    Attributes:
        template: What reads the study's ``run``; None: the evaluator itself, whatever it holds.
        takes_scenarios: A study may have scenarios, for each of which an object is made.
        has_levels: ``search.fidelity`` chooses among its network backends.
        has_bounds: No iteration is shorter than the lower bound of its run, where the backend has
            bounds: designs are screened, gaps proven.
        is_decided_by_run: Metrics depend on the run, its prices and the code alone, so that studies
            may share them (``execution.cache``). These need ``template = simcore.RunTemplate``.
        prices_itself: It gives costs without the study's ``cost``.
        counts_traffic: It gives ``link_load``, which ``links_within_capacity`` bounds.
        takes_many: ``accounts`` is faster than ``account`` of each, and never ends a worker.
        bests: Metrics that ``best_metrics`` gives, by name, and which gaps are proven of: exact
            where None; else ``account`` gives no less (minimise), or no more (maximise).
        gives: Names of its metrics that objectives may name, which end in their units.
        fidelity: Which model gives the numbers, as rows tell it.
        input: What the object was made of.
    """

    template: ClassVar[type | None] = None
    takes_scenarios: ClassVar[bool] = True
    has_levels: ClassVar[bool] = False
    has_bounds: ClassVar[bool] = False
    is_decided_by_run: ClassVar[bool] = False
    prices_itself: ClassVar[bool] = False
    counts_traffic: ClassVar[bool] = False
    takes_many: bool = False
    bests: ClassVar[Mapping[str, Sense | None]] = {}
    gives: ClassVar[tuple[str, ...]] = ()
    fidelity: str = ""

    def __init__(self, what: EvaluatorInput) -> None:
        self.input = what

    @classmethod
    def gives_of(cls, run: Mapping[str, Any]) -> tuple[str, ...]:
        """``gives`` where names depend on what the *run* of a study holds."""
        return cls.gives

    @abstractmethod
    def account(self, design: Design) -> Account:
        """Metrics of one design, and what to know of them.

        Raises:
            InfeasibleError: The design breaks a rule that the space does not hold.
        """

    def accounts(self, designs: Sequence[Design]) -> list[Account | Exception]:
        """``account`` of each of *designs*, or what it raises; see ``takes_many``."""
        return [_accounted(self, design) for design in designs]

    def metrics(self, design: Design) -> Mapping[str, float]:
        """The metrics alone; see ``account``."""
        return self.account(design).metrics

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        """Metrics of *design* at best, see ``bests``; raises nothing that ``account`` does not."""
        raise NotImplementedError(f"{type(self).__name__} names no bests")

    def checks(self) -> Sequence[Check]:
        """Rules that are known without evaluating a design; samplers propose none that breaks one.

        Returns:
            Those that a knob of the study decides, the quickest first.
        """
        return ()

    def admits(self, design: Design) -> bool:
        """True if *design* breaks none of the ``checks``."""
        return all(check.holds(design) for check in self.checks())

    def canonical(self, design: Design) -> Design:
        """The design that stands for all that have provably the same metrics as *design*."""
        return design

    @property
    def twin_knobs(self) -> frozenset[str]:
        """Names of the knobs that ``canonical`` looks at, and of those that it changes."""
        return frozenset()

    def sent_bytes(self, design: Design) -> Sequence[float]:
        """Bytes that an NPU sends in each dimension of the network; empty: not known.

        Raises:
            InfeasibleError: The design breaks a rule.
        """
        return ()

    def measured_against(self, design: Design) -> str:
        """Error of predictions like that of *design* against measured runs, in words."""
        return f"not validated here: {self.fidelity or type(self).__name__} is no simulation"

    def siblings(self, design: Design) -> Siblings:
        """Designs whose predictions err as that of *design*, and how well two of them compare."""
        return Siblings()

    def accelerator(self, design: Design) -> str:
        """Trust in the accelerator of *design* where little was measured on it; else empty."""
        return ""

    def attributions(self, design: Design) -> "Sequence[simcore.Attribution]":
        """Times of *design* by what they went to, the most telling first; empty: not known.

        Raises:
            InfeasibleError: The design breaks a rule.
        """
        return ()

    def runs(self, design: Design) -> Mapping[str, Run]:
        """Runs that make up *design*, by pool or scenario, or "" for one; empty: not known."""
        return {}

    def moved(self, design: Design) -> Iterator[Moved]:
        """*design* on machines of which one part is a tenth better or worse; empty: not known.

        Raises:
            InfeasibleError: The design breaks a rule.
        """
        return iter(())

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        """Costs of machines, known before a design is evaluated; None: they are not.

        They are those that ``account`` gives, those in proportion to the iteration time for one of
        a second.
        """
        return None

    def priced(self, design: Design, metrics: Mapping[str, float]) -> PricedMachine | None:
        """The machine that costs among *metrics* of *design* are of; None: costs are its own."""
        return None

    def prepare(self) -> None:  # noqa: B027 - there may be nothing to prepare
        """Get what only evaluations need; a worker asks for it once, before its first design."""

    def check(self) -> None:  # noqa: B027 - there may be nothing to see
        """See whether every knob and every value of the study is understood.

        Raises:
            ConfigError: One is not; says which, and what is.
        """

    def check_example(self, design: Design) -> None:  # noqa: B027
        """See whether *design*, the first of the space, uses its machine as all designs must.

        Raises:
            ConfigError: It does not, so that a rule of the space is missing.
        """


def evaluate(evaluator: Evaluator, goals: Goals, design: Design) -> Evaluation:
    """Evaluate one design; whatever happens is an outcome."""
    return judge(measure(evaluator, design), goals, evaluator.fidelity)


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluator's answer, an account or an error, and how long it took."""

    outcome: Account | Exception
    duration_s: float

    @property
    def is_out_of_memory(self) -> bool:
        """True if the memory did not suffice."""
        return isinstance(self.outcome, MemoryError)


def _accounted(evaluator: Evaluator, design: Design) -> Account | Exception:
    try:
        return evaluator.account(design)
    except Exception as error:  # one broken design must not end a study of thousands
        return error.with_traceback(None)


def measure(evaluator: Evaluator, design: Design) -> Measured:
    """Run the evaluator and look at nothing, so that many designs can be judged at once."""
    start_s = time.perf_counter()
    outcome = _accounted(evaluator, design)
    return Measured(outcome, time.perf_counter() - start_s)


def judge(measured: Measured, goals: Goals, fidelity: str) -> Evaluation:
    """Evaluation of one design, from its metrics."""
    outcome, duration_s = measured.outcome, measured.duration_s
    if isinstance(outcome, Exception):
        return _without_metrics(outcome, fidelity, duration_s)
    try:
        metrics = Metrics.of(outcome.metrics)
        check_metrics(metrics)
        objectives, violations = goals.values(metrics), goals.violations(metrics)
        check_finite({**objectives, **violations})
        is_feasible = all(value <= 0 for value in violations.values())
        reason = "" if is_feasible else "; ".join(goals.excesses(metrics))
    except Exception as error:
        return _without_metrics(error, fidelity, duration_s)
    return Evaluation(
        state="complete" if is_feasible else "infeasible",
        objectives=objectives,
        constraints=violations,
        metrics=metrics,
        fidelity=fidelity,
        notes=tuple(map(one_line, outcome.notes)),
        reason=reason,
        duration_s=duration_s,
    )


def _without_metrics(error: Exception, fidelity: str, duration_s: float) -> Evaluation:
    if isinstance(error, InfeasibleError):
        return Evaluation(
            state="infeasible",
            constraints={error.rule: 1.0},
            fidelity=fidelity,
            reason=one_line(str(error)),
            duration_s=duration_s,
        )
    failure: Failure = "own_code" if isinstance(error, OwnCodeError) else "model_error"
    return Evaluation(
        state="failed",
        fidelity=fidelity,
        reason=one_line(reason_of(error)),
        failure="out_of_memory" if isinstance(error, MemoryError) else failure,
        duration_s=duration_s,
    )
