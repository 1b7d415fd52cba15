"""Prices of the machines of a study: exact before anything is simulated."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache

from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.failure import OwnCodeError, one_line, reason_of
from dse.evaluate.metrics import check_metrics
from dse.evaluate.priced import MachineCosts
from dse.objectives import OBJECTIVES, Limit, needed_metrics
from dse.samplers.base import Prices
from dse.space import Design, Value
from dse.study.compile import Study
from simcore import InfeasibleError, Run, SimcoreError, SimulationError

PER_TIME = frozenset(
    {"iteration_time_s", "usd_per_token", "energy_j", "energy_j_per_token", "carbon_kg_per_token"}
)
"""Metrics in proportion to the iteration time, the machine being the same."""

OF_MACHINE = frozenset(
    {
        "capital_cost_usd",
        "network_cost_usd",
        "power_w",
        "usd_per_hour",
        "npu_bandwidth_bytes_per_s",
    }
)
"""Metrics of the machine alone."""

MACHINES_KEPT = 1 << 14
"""Machines that are remembered, some 1 kB each; then they are forgotten, which costs time alone."""

_TIME = frozenset({"iteration_time_s"})

_NO_COSTS = MachineCosts(metrics=lambda design: {}, deciding=frozenset())


class Machines:
    """The machines of a study's designs; each is priced once.

    Attributes:
        have_costs: Whether costs are known beforehand; else machines have none.
        costs_rise: Whether no cost that the study asks for falls where a bandwidth rises.
        knobs: Names of the knobs that the metrics of a machine depend on.
    """

    def __init__(self, study: Study) -> None:
        self._what, parameters = study.evaluator_input, study.space.parameters
        with _faults_named(self._what.name):
            told = study.evaluator.machine_costs(self._what)
        self.have_costs, self._costs = told is not None, told or _NO_COSTS
        self.knobs = tuple(name for name in parameters if name in self._costs.deciding)
        self._known: dict[tuple[Value | None, ...], Mapping[str, float] | InfeasibleError] = {}
        self._asked = needed_metrics(study.goals) & self.known
        self.costs_rise = self._costs.rise or self._asked <= _TIME
        self._objectives = [OBJECTIVES[name] for name in study.goals.objectives]
        self._limits = [limit for limit in study.goals.limits if self.decide(limit)]

    @cached_property
    def _runs(self) -> DesignRuns:
        return DesignRuns(self._what)

    def run(self, design: Design) -> Run:
        """The run that *design* means."""
        return self._runs.run(design)

    def metrics(self, design: Design) -> Mapping[str, float] | InfeasibleError:
        """Metrics of a design's machine, with an iteration of one second; or why it has none."""
        key = tuple(map(design.get, self.knobs))
        if key not in self._known:
            if len(self._known) >= MACHINES_KEPT:
                self._known.clear()
            self._known[key] = self._metrics(design)
        return self._known[key]

    def _metrics(self, design: Design) -> Mapping[str, float] | InfeasibleError:
        try:
            with _faults_named(self._what.name):
                found = {"iteration_time_s": 1.0, **self._costs.metrics(design)}
        except InfeasibleError as error:
            return error
        check_metrics(found)  # of code from outside, whose designs would else never be proposed
        if missing := self._asked - found.keys():
            rule = f"machine_costs of {self._what.name} must give {', '.join(sorted(missing))}"
            raise SimulationError(f"{rule}, which the study asks for, as account does.")
        return found

    @property
    def known(self) -> frozenset[str]:
        """Metrics that follow from a design's machine and its iteration time."""
        return PER_TIME | OF_MACHINE if self.have_costs else _TIME

    def decide(self, limit: Limit) -> bool:
        """True if the machine alone decides if the limit is kept."""
        return (self.known & OF_MACHINE).issuperset(limit.metric.metrics)

    def amounts(self, design: Design) -> tuple[float, ...] | None:
        """Per objective its amount with an iteration of one second.

        None where the machine has no price, or one that is over a limit.
        """
        metrics = self.metrics(design)
        if isinstance(metrics, InfeasibleError):
            return None
        if any(limit.violation(metrics) > 0 for limit in self._limits):
            return None
        return tuple(objective.value(metrics) for objective in self._objectives)


@contextmanager
def _faults_named(evaluator: str) -> Iterator[None]:
    """Name the evaluator whose costs end in an error that nobody raised on purpose."""
    try:
        yield
    except SimcoreError:
        raise
    except Exception as error:
        reason = one_line(reason_of(error))
        raise OwnCodeError(f"machine_costs of {evaluator} raised {reason}") from error


_KEPT = 16
"""Studies whose machines are kept."""


@lru_cache(maxsize=_KEPT)
def machines_of(study: Study) -> Machines:
    """The machines of *study*, one for all that ask: a bill of materials takes a millisecond."""
    return Machines(study)


def machine_prices(study: Study) -> Prices | None:
    """Exact facts about the designs of *study*, where all but their time is.

    None where an objective depends on more than the machine and the iteration time.
    """
    objectives = [OBJECTIVES[name] for name in study.goals.objectives]
    metrics = {name for objective in objectives for name in objective.metrics}
    minimises = all(sense == "minimise" for sense in study.goals.objectives.values())
    is_timed = bool(metrics & PER_TIME)
    if study.goals.scenarios or not minimises or not is_timed or metrics - PER_TIME - OF_MACHINE:
        return None
    machines = machines_of(study)
    if not machines.have_costs:
        return None
    return Prices(
        powers=tuple(sum(n in PER_TIME for n in objective.metrics) for objective in objectives),
        amounts=machines.amounts,
        deciding=frozenset(machines.knobs),
    )
