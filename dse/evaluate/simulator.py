"""Evaluates designs by simulating a training iteration, and pricing the machine."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

import simcore
from dse.evaluate.base import Account, Evaluator, EvaluatorInput
from dse.evaluate.designs.assign import backends_of
from dse.evaluate.designs.checks import RunFits, checks_of
from dse.evaluate.designs.run_check import RunChecker, errors_named_for_run
from dse.evaluate.designs.run_costs import costs_of_runs
from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.designs.together import Joined, TogetherDesigns
from dse.evaluate.levers import Moved, moved_platforms, priced_move
from dse.evaluate.money import CostMeter
from dse.evaluate.priced import MachineCosts, PricedMachine
from dse.evaluate.siblings import Siblings
from dse.evaluate.trusted import RunBands, fills, little_known, siblings_of
from dse.space import Check, Design, Parameter, Value
from simcore import (
    BACKENDS,
    DEFAULT_BACKEND,
    InfeasibleError,
    Platform,
    Run,
    RunTemplate,
    SimulationError,
    check_memory,
    check_run,
    plain_sum,
    unbuildable,
)

_SCHEDULING = "system.scheduling"
_PHASE_END = "system.phase_end"
_INTER_DIMENSION = "system.inter_dimension"

_OF_ONE = frozenset({"account", "run", "simulate"})
"""Methods about one design that its account comes from."""

_FEW = 4
"""Designs that are sooner simulated one by one than together."""

_MACHINES_KEPT = 1 << 13
"""Machines that are kept, some 2 kB each."""

_NOT_OF_MACHINE = ("workload.", "plan.", "system.", "backend", "compute")
"""Starts of paths that no machine depends on."""

_OF_LINKS = ("system.", "platform.dimensions")
"""Starts of paths on which neither workload nor plan depend, but for the number of all NPUs."""


@dataclass(slots=True)
class _Machine:
    """A machine, whatever runs on it.

    Attributes:
        platform: The machine.
        error: Reason for which nobody can build it.
        bandwidth_bytes_per_s: Of one accelerator, all dimensions together.
        npus: Accelerators.
    """

    platform: Platform
    error: InfeasibleError | None
    bandwidth_bytes_per_s: float
    npus: int
    _costs: Mapping[str, float] | None = None

    @classmethod
    def of(cls, platform: Platform, *, physical: bool) -> "_Machine":
        rates = [dimension.bandwidth_bytes_per_s for dimension in platform.dimensions]
        error = unbuildable(platform) if physical else None
        return cls(platform, error, plain_sum(rates), platform.npus)

    def costs(self, meter: CostMeter) -> Mapping[str, float]:
        """Costs that no time is part of.

        Raises:
            InfeasibleError: No such machine is sold.
        """
        if self._costs is None:
            self._costs = meter.machine(self.platform)
        return self._costs

    def is_sold(self, meter: CostMeter | None) -> bool:
        """True if *meter* has a price for the machine; without one nobody asks."""
        try:
            if meter is not None:
                self.costs(meter)
        except InfeasibleError:
            return False
        return True


def _is_of_machine(knob: Parameter) -> bool:
    """True if a machine may depend on *knob*."""
    return not all(path.startswith(_NOT_OF_MACHINE) for path in knob.targets or (knob.name,))


def _is_of_links(knob: Parameter) -> bool:
    """True if *knob* changes links or the ways over them alone, or how many NPUs each joins."""
    return all(path.startswith(_OF_LINKS) for path in knob.targets or (knob.name,))


def _is_npu(name: str, knob: Parameter) -> bool:
    """True if the knob *name* chooses the accelerator by its name."""
    return "platform.npu" in (knob.targets or (name,))


class SimulatorEvaluator(Evaluator):
    """Names in the run and prices are read once; designs share what they have in common."""

    template = RunTemplate
    has_levels = has_bounds = is_decided_by_run = counts_traffic = True
    takes_many = True

    def __init_subclass__(cls) -> None:
        """Let a class that changes the account of one design see each of many by itself."""
        if cls.__dict__.keys() & _OF_ONE and "takes_many" not in cls.__dict__:
            cls.takes_many = False

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        system = what.run.get("system")
        self._system = system if isinstance(system, dict) else {}
        with errors_named_for_run():
            self._runs = DesignRuns(what)
        self._margin = what.goals.memory_margin
        self._rules = checks_of(what)  # what checks find out of a plan, its simulation need not
        self._meter = CostMeter.of(what)
        self._bands = RunBands.of(what)
        self._backends = backends_of(what)
        self._machine_knobs = tuple(n for n, k in what.parameters.items() if _is_of_machine(k))
        self._machines: dict[tuple[Value | None, ...], _Machine] = {}
        self._kin_knobs = tuple(n for n, k in what.parameters.items() if not _is_of_links(k))
        self._kin: dict[tuple[Value | None, ...], Run] = {}
        self._together: TogetherDesigns | None = None
        self.fidelity = what.fidelity or str(what.run.get("backend", DEFAULT_BACKEND))

    @cached_property
    def _simulator(self) -> "simcore.Simulator":
        """The simulator, of which a check has no need."""
        return simcore.Simulator(self._rules.memo)

    def prepare(self) -> None:
        self._simulator.prepare()

    def run(self, design: Design) -> Run:
        """The run that *design* means.

        Raises:
            ConfigError: A value that the run file does not allow.
        """
        return self._runs.run(design)

    def _derated(self, run: Run) -> Run:
        """*run* with the bandwidths that can be used."""
        share = self.input.bandwidth
        if share == 1.0:
            return run
        return run.model_copy(update={"platform": run.platform.with_share(share)})

    def simulate(self, run: Run) -> "simcore.IterationResult":
        """Check structure, and memory if the study says so, then simulate.

        Raises:
            InfeasibleError: A rule is broken; nothing has been simulated.
        """
        bounded = self._margin is not None
        return self._simulator.simulate(run, memory=bounded, margin=self._margin or 0.0)

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        return costs_of_runs(what)

    def account(self, design: Design) -> Account:
        run = self.run(design)
        machine = self._machine(design)
        if machine.error is not None:
            raise machine.error.with_traceback(None)
        if not machine.is_sold(self._meter):
            self._refuse(run, machine)
        result = self.simulate(self._derated(run))
        return self._account(run, machine, result.metrics(), result.notes, result.memory_fit)

    def _refuse(self, run: Run, machine: "_Machine") -> None:
        """Tell why *run* on a machine that nobody sells is infeasible, which takes no simulation.

        Raises:
            InfeasibleError: A rule of the plan, as before any simulation, else that of the price.
        """
        check_run(run, memory=False)
        if self._margin is not None:
            check_memory(run.workload, run.platform, run.plan, self._margin)
        if self._meter is not None:
            machine.costs(self._meter)

    def accounts(self, designs: Sequence[Design]) -> list[Account | Exception]:
        """The account of each design; those that can be are simulated together."""
        if not self.takes_many or len(designs) < _FEW:
            return super().accounts(designs)
        if self._together is None:
            what = self.input
            self._together = TogetherDesigns(
                self._runs, what.parameters, self._simulator, self._margin, what.bandwidth
            )
        found: list[Account | Exception] = [SimulationError("no account")] * len(designs)
        machines: dict[int, _Machine] = {}
        for at, design in enumerate(designs):
            try:
                machine = self._machine(design)
            except Exception as error:  # one broken design must not end a study of thousands
                found[at] = error.with_traceback(None)
                continue
            if machine.error is not None:
                found[at] = machine.error
            elif not machine.is_sold(self._meter):
                found[at] = self._joined(design, machine, None)
            else:
                machines[at] = machine
        joined = self._together.simulate([designs[at] for at in machines])
        for (at, machine), one in zip(machines.items(), joined, strict=True):
            found[at] = self._joined(designs[at], machine, one)
        return found

    def _joined(
        self, design: Design, machine: "_Machine", one: Joined | None
    ) -> Account | Exception:
        """The account of one of many designs."""
        try:
            if one is None:
                return self.account(design)
            if error := one.found.error(one.row):
                return error
            many, row = one.found, one.row
            found = many.metrics_of(row), many.notes(row), many.memory_fit(row)
            run = self._kindred(design, machine.npus)
            run = run.model_copy(update={"platform": machine.platform})
            return self._account(run, machine, *found)
        except Exception as error:
            return error.with_traceback(None)

    def _kindred(self, design: Design, npus: int) -> Run:
        """A run with the workload and the plan of that of *design* on *npus*."""
        key = npus, *map(design.get, self._kin_knobs)
        known = self._kin.get(key)
        if known is None:
            if len(self._kin) >= _MACHINES_KEPT:
                self._kin.clear()
            known = self._kin[key] = self.run(design)
        return known

    def _machine(self, design: Design) -> "_Machine":
        """The machine of *design*, whatever runs on it; each is looked at once."""
        key = tuple(map(design.get, self._machine_knobs))
        known = self._machines.get(key)
        if known is None:
            if len(self._machines) >= _MACHINES_KEPT:
                self._machines.clear()
            platform = self.run(design).platform
            known = self._machines[key] = _Machine.of(platform, physical=self.input.physical)
        return known

    def _account(
        self,
        run: Run,
        machine: "_Machine",
        simulated: Mapping[str, float],
        notes: Sequence[str],
        fit: "simcore.MemoryFit",
    ) -> Account:
        metrics = self._bands.applied(run, simulated)
        metrics |= fills(fit)
        metrics["npu_bandwidth_bytes_per_s"] = machine.bandwidth_bytes_per_s
        if self._meter is not None:
            time_s, tokens = metrics["iteration_time_s"], run.workload.tokens
            metrics |= self._meter.timed(machine.costs(self._meter), time_s, tokens)
        return Account(metrics, (*notes, *([fit.reason] if fit.is_short else [])))

    def _metrics(self, run: Run, result: "simcore.IterationResult") -> dict[str, float]:
        """All but the costs."""
        metrics = self._bands.applied(run, result.metrics())
        metrics |= fills(result.memory_fit)
        metrics["npu_bandwidth_bytes_per_s"] = plain_sum(
            dimension.bandwidth_bytes_per_s for dimension in run.platform.dimensions
        )
        return metrics

    def attributions(self, design: Design) -> "Sequence[simcore.Attribution]":
        return (simcore.attribute_run(self._derated(self.run(design))),)

    def runs(self, design: Design) -> Mapping[str, Run]:
        return {"": self.run(design)}

    def moved(self, design: Design) -> Iterator[Moved]:
        run = self.run(design)
        for lever, factor, platform in moved_platforms(run.platform):
            other = run.model_copy(update={"platform": platform})
            result = self._simulator.simulate(self._derated(other))
            metrics = self._metrics(other, result)
            costs = partial(self._costs, other, result, metrics)
            yield priced_move(lever, factor, platform, metrics, costs)

    def priced(self, design: Design, metrics: Mapping[str, float]) -> PricedMachine | None:
        run = self.run(design)
        return PricedMachine(run.platform, metrics["iteration_time_s"], run.workload.tokens)

    def _costs(
        self, run: Run, result: "simcore.IterationResult", metrics: Mapping[str, float]
    ) -> Mapping[str, float]:
        if self._meter is None:
            return {}
        return self._meter.metrics(run.platform, metrics["iteration_time_s"], result.tokens)

    def checks(self) -> Sequence[Check]:
        return RunFits(self.input, self.run, self._rules).checks()

    def canonical(self, design: Design) -> Design:
        """One order of waiting collectives, where it decides nothing.

        Where messages do not meet, all phases end together and all chunks take the dimensions in
        one order, the time of a collective depends on nothing but itself.
        """
        knob = self.input.parameters.get(_SCHEDULING)
        if knob is None or _SCHEDULING not in design:
            return design
        if any(BACKENDS[name].messages_meet for name in self._backends):
            return design
        if design.get(_PHASE_END, self._system.get("phase_end")) != "together":
            return design
        order = design.get(_INTER_DIMENSION, self._system.get("inter_dimension"))
        if order not in (None, "ascending"):
            return design
        first = knob.choices[0]
        return design if design[_SCHEDULING] == first else {**design, _SCHEDULING: first}

    @property
    def twin_knobs(self) -> frozenset[str]:
        return frozenset({_SCHEDULING, _PHASE_END, _INTER_DIMENSION} & self.input.parameters.keys())

    def sent_bytes(self, design: Design) -> Sequence[float]:
        return self.simulate(self.run(design)).sent_bytes

    def measured_against(self, design: Design) -> str:
        return str(self._bands.band(self.run(design)))

    def siblings(self, design: Design) -> Siblings:
        return siblings_of(self.run(design))

    def accelerator(self, design: Design) -> str:
        return little_known(self.run(design).platform.npu)

    def check(self) -> None:
        run = RunChecker(self.input).check()
        with suppress(InfeasibleError):  # the knobs may mend that; names they cannot
            check_run(run, memory=False)
        self._check_prices(run.platform)

    def _check_prices(self, platform: Platform) -> None:
        """See whether all is known that the costs of each accelerator are made of.

        Raises:
            ConfigError: A price or a power is not; names it, and the accelerator.
        """
        if self._meter is None:
            return
        knobs = [(name, k) for name, k in self.input.parameters.items() if _is_npu(name, k)]
        kept = next(iter(self.input.dimensions.values()))
        for name, choice in [(name, choice) for name, k in knobs for choice in k.choices]:
            with suppress(InfeasibleError):  # which the other knobs may mend
                machine = self._runs.partial_run({name: choice}, kept).platform
                with errors_named_for_run():
                    self._meter.check(machine)
        if not knobs:
            with suppress(InfeasibleError), errors_named_for_run():
                self._meter.check(platform)

    def check_example(self, design: Design) -> None:
        RunChecker(self.input).check_npus(design)
