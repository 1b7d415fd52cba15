"""Evaluates designs by simulating a training iteration, and pricing the machine."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from dse.evaluate.base import Account, Evaluator, EvaluatorInput
from dse.evaluate.designs.assign import backends_of, usable
from dse.evaluate.designs.checks import RunFits
from dse.evaluate.designs.run_check import RunChecker, errors_named_for_run
from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.levers import Moved, moved_platforms, priced_move
from dse.evaluate.money import CostMeter
from dse.evaluate.priced import PricedMachine
from dse.evaluate.siblings import Siblings
from dse.evaluate.trusted import RunBands, fills, little_known, siblings_of
from dse.space import Check, Design
from simcore import (
    BACKENDS,
    DEFAULT_BACKEND,
    Attribution,
    InfeasibleError,
    IterationResult,
    Run,
    RunTemplate,
    Simulator,
    attribute_run,
    check_run,
    unbuildable,
)

_SCHEDULING = "system.scheduling"
_PHASE_END = "system.phase_end"
_INTER_DIMENSION = "system.inter_dimension"


class SimulatorEvaluator(Evaluator):
    """Names in the run and prices are read once; designs share what they have in common."""

    template = RunTemplate
    has_levels = has_bounds = has_exact_prices = is_decided_by_run = counts_traffic = True

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        system = what.run.get("system")
        self._system = system if isinstance(system, dict) else {}
        with errors_named_for_run():
            self._runs = DesignRuns(what)
        self._simulator = Simulator()
        self._simulator.prepare()
        self._margin = what.goals.memory_margin
        self._meter = CostMeter.of(what)
        self._bands = RunBands.of(what)
        self._backends = backends_of(what)
        self.fidelity = what.fidelity or str(what.run.get("backend", DEFAULT_BACKEND))

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
        return run.model_copy(update={"platform": usable(run.platform, share)})

    def simulate(self, run: Run) -> IterationResult:
        """Check structure, and memory if the study says so, then simulate.

        Raises:
            InfeasibleError: A rule is broken; nothing has been simulated.
        """
        bounded = self._margin is not None
        return self._simulator.simulate(run, memory=bounded, margin=self._margin or 0.0)

    def account(self, design: Design) -> Account:
        run = self.run(design)
        if self.input.physical and (error := unbuildable(run.platform)):
            raise error
        result = self.simulate(self._derated(run))
        metrics = self._metrics(run, result)
        metrics |= self._costs(run, result, metrics)
        fit = result.memory_fit
        return Account(metrics, (*result.notes, *([fit.reason] if fit.is_short else [])))

    def _metrics(self, run: Run, result: IterationResult) -> dict[str, float]:
        """All but the costs."""
        metrics = self._bands.applied(run, result.metrics())
        metrics |= fills(result.memory_fit)
        metrics["npu_bandwidth_bytes_per_s"] = sum(
            dimension.bandwidth_bytes_per_s for dimension in run.platform.dimensions
        )
        return metrics

    def attributions(self, design: Design) -> Sequence[Attribution]:
        return (attribute_run(self._derated(self.run(design))),)

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
        self, run: Run, result: IterationResult, metrics: Mapping[str, float]
    ) -> Mapping[str, float]:
        if self._meter is None:
            return {}
        return self._meter.metrics(run.platform, metrics["iteration_time_s"], result.tokens)

    def checks(self) -> Sequence[Check]:
        return RunFits(self.input, self.run).checks()

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

    def check_example(self, design: Design) -> None:
        RunChecker(self.input).check_npus(design)
