"""Evaluates designs by closed forms: MODEL-0 on two dimensions, LIBRA's on any number."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite

from dse.costs import PriceBook, load_prices
from dse.evaluate.base import Account, Evaluator, EvaluatorInput
from dse.evaluate.closed_forms.libra import Split, iteration_time_s
from dse.evaluate.closed_forms.model0 import RUN_PATHS, Model0
from dse.evaluate.closed_forms.problem import VIT22B_64, Problem
from dse.evaluate.designs.checks import RunFits
from dse.evaluate.designs.run_check import RunChecker, errors_named_for_run
from dse.evaluate.designs.run_costs import costs_of_runs
from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.money import CostFile, CostMeter
from dse.evaluate.priced import MachineCosts, PricedMachine
from dse.evaluate.trusted import fills
from dse.objectives import needed_metrics
from dse.space import Check, Design, Value
from simcore import (
    ConfigError,
    InfeasibleError,
    Run,
    RunChecks,
    RunTemplate,
    check_run,
    unbuildable,
)

_IMPLIED = frozenset({"plan.dp"})
"""Knobs that follow from those that MODEL-0 reads."""

_GIVEN = ("iteration_time_s", "capital_cost_usd", "footprint_bytes", "memory_fill")
"""Metrics that MODEL-0 gives."""


class Model0Evaluator(Evaluator):
    """MODEL-0 on the study's model and machine; on the ViT-22B problem where it names none."""

    fidelity = "model0"
    template = RunTemplate
    takes_scenarios = False
    prices_itself = True

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        self._fixed: Design = {}
        problem = VIT22B_64
        if what.run:
            with errors_named_for_run():
                run = DesignRuns(what).without_values()[0]
            problem = Problem.of(run, _prices(what))
            self._fixed = _values(run)
        self._problem, self._model = problem, Model0(problem)

    def account(self, design: Design) -> Account:
        metrics = self._model.evaluate({**self._fixed, **design})
        if not isfinite(metrics["capital_cost_usd"]):  # part of it is not sold: no cost is known
            del metrics["capital_cost_usd"]
        limit_bytes = 0.95 * self._problem.memory_bytes
        return Account({**metrics, "memory_fill": metrics["footprint_bytes"] / limit_bytes})

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts:
        evaluator, is_needed = cls(what), "capital_cost_usd" in needed_metrics(what.goals)
        model, fixed = evaluator._model, evaluator._fixed

        def metrics(design: Design) -> Mapping[str, float]:
            cost_usd = model.capital_cost_usd({**fixed, **design})
            if isfinite(cost_usd):
                return {"capital_cost_usd": cost_usd}
            if is_needed:
                raise InfeasibleError("parts_are_sold", "has a part without a price")
            return {}

        known = {name for name in RUN_PATHS if name.startswith(("topology", "bandwidth"))}
        deciding = known | {RUN_PATHS[name] for name in known}
        return MachineCosts(metrics=metrics, deciding=frozenset(deciding))

    def checks(self) -> Sequence[Check]:
        names = (n for n in self.input.parameters if not n.endswith((".bandwidth", ".topology")))
        return [Check(holds=self._fits, deciding=frozenset(names))]

    def _fits(self, design: Design) -> bool:
        """True if the design can be built and fits in memory."""
        try:
            self._model.check({**self._fixed, **design})
        except InfeasibleError:
            return False
        return True

    def check(self) -> None:
        self._check_metrics()
        if self.input.run:
            _check_knows(RunChecker(self.input).check(), self.fidelity)
            _check_two_dimensions(self._problem)
            self._check_prices()
        self._check_knobs()
        CostMeter.of(self.input)
        parameters = self.input.parameters.items()
        design: Design = {name: p.choices[0] if p.choices else p.low for name, p in parameters}
        for name, parameter in self.input.parameters.items():
            for value in parameter.choices or (parameter.low,):
                self._check_value(design, name, value)

    def _check_metrics(self) -> None:
        own = {name for one in self.input.own for name in one.gives}
        for name in sorted(needed_metrics(self.input.goals) - own - {*_GIVEN}):
            rule = f"model0 gives {', '.join(_GIVEN)} alone; use the simulator"
            raise ConfigError("objectives and constraints", rule, got=name)

    def _check_knobs(self) -> None:
        read = {*RUN_PATHS, *RUN_PATHS.values(), *_IMPLIED}
        for name in self.input.parameters:
            if name not in read:
                rule = f"model0 reads {', '.join(RUN_PATHS.values())} alone; use the simulator"
                raise ConfigError(f"space: {name}", rule, got=name)

    def _check_prices(self) -> None:
        """See whether there is a price where an objective needs one."""
        if "capital_cost_usd" in needed_metrics(self.input.goals):
            npu = DesignRuns(self.input).without_values()[0].platform.npu
            _prices(self.input).accelerator_usd(npu)

    def _check_value(self, design: Design, name: str, value: Value) -> None:
        try:
            self._model.evaluate({**self._fixed, **design, name: value})
        except InfeasibleError:
            return
        except ConfigError as error:
            raise ConfigError(f"space: {error.at or name}", error.rule, got=error.got) from None

    def check_example(self, design: Design) -> None:
        if self.input.run:
            RunChecker(self.input).check_npus(design)


class LibraEvaluator(Evaluator):
    """LIBRA's closed form of a run's time; its structure, memory and costs as for the simulator."""

    fidelity = "libra"
    template = RunTemplate
    takes_scenarios = False

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        with errors_named_for_run():
            self._runs = DesignRuns(what)
        self._rules = RunChecks()
        self._meter = CostMeter.of(what)
        self._prices = _prices(what)

    def account(self, design: Design) -> Account:
        run, margin = self._runs.run(design), self.input.goals.memory_margin
        if self.input.physical and (error := unbuildable(run.platform)):
            raise error
        _check_knows(run, self.fidelity)
        self._rules.check(run, memory=margin is not None, margin=margin or 0.0)
        time_s = iteration_time_s(Problem.of(run, self._prices), _split(run))
        fit = self._rules.fit(run.workload, run.platform, run.plan)
        metrics = {"iteration_time_s": time_s, "footprint_bytes": fit.held_bytes} | fills(fit)
        if self._meter is not None:
            metrics |= self._meter.metrics(run.platform, time_s, run.workload.tokens)
        return Account(metrics)

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        return costs_of_runs(what)

    def priced(self, design: Design, metrics: Mapping[str, float]) -> PricedMachine | None:
        run = self._runs.run(design)
        return PricedMachine(run.platform, metrics["iteration_time_s"], run.workload.tokens)

    def checks(self) -> Sequence[Check]:
        return RunFits(self.input, self._runs.run).checks()

    def check(self) -> None:
        run = RunChecker(self.input).check()
        _check_knows(run, self.fidelity)
        for name, parameter in self.input.parameters.items():
            more = [value for value in parameter.choices or (parameter.high,) if value != 1]
            if name in ("plan.cp", "plan.ep") and more:
                _refuse_axis(f"space: {name}", more[0], self.fidelity)
        with suppress(InfeasibleError):  # the knobs may mend that; names they cannot
            check_run(run, memory=False)

    def check_example(self, design: Design) -> None:
        RunChecker(self.input).check_npus(design)


def _prices(what: EvaluatorInput) -> PriceBook:
    """The price book of a study."""
    file = CostFile.from_file_data(dict(what.cost or {}), at="cost")
    return load_prices(file.prices, beside=file.beside(what.folder))


def _values(run: Run) -> dict[str, Value]:
    """Values of *run* that MODEL-0 reads, by path; those of the dimensions that there are."""
    plan, found = run.plan, dict[str, Value]()
    for at, dimension in enumerate(run.platform.dimensions):
        place = f"platform.dimensions[{at}]"
        found[f"{place}.npus"] = dimension.npus
        found[f"{place}.topology"] = dimension.topology
        found[f"{place}.bandwidth"] = dimension.bandwidth_bytes_per_s
    return {**found, "plan.tp": plan.tp, "plan.pp": plan.pp, "plan.micro_batch": plan.micro_batch}


def _split(run: Run) -> Split:
    plan, dimensions = run.plan, run.platform.dimensions
    return Split(
        tp=plan.tp,
        pp=plan.pp,
        dp=plan.dp,
        micro_batch=plan.micro_batch,
        npus=tuple(one.npus for one in dimensions),
        bandwidth_bytes_per_s=tuple(one.usable_bandwidth_bytes_per_s for one in dimensions),
    )


def _check_knows(run: Run, name: str) -> None:
    """See whether the plan has tp, pp and dp alone.

    Raises:
        ConfigError: It has more, of which no closed form here knows anything.
    """
    for degree in ("cp", "ep"):
        value = getattr(run.plan, degree)
        if value > 1:
            _refuse_axis(f"run.plan.{degree}", value, name)


def _refuse_axis(at: str, value: Value, name: str) -> None:
    rule = f"must be 1 for {name}, which knows tp, pp and dp; use the simulator"
    raise ConfigError(at, rule, got=value)


def _check_two_dimensions(problem: Problem) -> None:
    count = len(problem.latency_s)
    if count != len(VIT22B_64.latency_s):
        rule = "must be 2 for model0; libra takes any number"
        raise ConfigError("run.platform.dimensions", rule, got=count)
