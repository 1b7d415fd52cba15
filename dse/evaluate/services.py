"""Evaluates designs by simulating a service of two pools, and pricing the machine."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial

import simcore
from dse.evaluate.base import Account, Evaluator, EvaluatorInput
from dse.evaluate.designs.checks import design_checks
from dse.evaluate.designs.run_check import (
    KnobChecker,
    check_goals,
    check_kernel_times,
    errors_named_for_run,
)
from dse.evaluate.designs.runs import FilledDesigns
from dse.evaluate.levers import Moved, moved_platforms, priced_move
from dse.evaluate.money import CostMeter
from dse.evaluate.priced import PricedMachine
from dse.evaluate.siblings import Siblings
from dse.evaluate.trusted import RunBands, fills, little_known, siblings_of
from dse.objectives import COST_METRICS
from dse.space import Check, Design
from simcore import (
    ConfigError,
    InfeasibleError,
    Run,
    Service,
    ServiceChecks,
    ServiceTemplate,
    unbuildable,
)

METRICS = frozenset(
    {
        "time_to_first_token_s",
        "time_per_output_token_s",
        "request_s",
        "requests_per_s",
        "tokens_per_s",
        "tokens_per_s_per_npu",
        "footprint_bytes",
        "memory_fill",
        "memory_fill_expected",
        "memory_fill_highest",
        "link_load",
    }
)
"""Metrics of every service that objectives may be made of, beside those of its costs."""


class DesignServices(FilledDesigns[Service]):
    """The services of a study whose ``run`` is a service file."""

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what, lambda run, beside: ServiceTemplate.from_table(run, beside=beside))


class ServiceEvaluator(Evaluator):
    """Names in the service and prices are read once; designs share the pools that are alike."""

    fidelity = "service"
    template = ServiceTemplate
    counts_traffic = True

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        with errors_named_for_run():
            self._services = DesignServices(what)
        self._service_checks = ServiceChecks()
        self._margin = what.goals.memory_margin
        self._meter = CostMeter.of(what)
        self._bands = RunBands.of(what)

    @cached_property
    def _simulator(self) -> "simcore.ServiceSimulator":
        """The simulator, of which a check has no need."""
        return simcore.ServiceSimulator()

    def prepare(self) -> None:
        self._simulator.prepare()

    def service(self, design: Design) -> Service:
        """The service that *design* means.

        Raises:
            ConfigError: A value that the service file does not allow.
        """
        return self._services.run(design)

    def account(self, design: Design) -> Account:
        service = self.service(design)
        if self.input.physical and (error := unbuildable(service.platform)):
            raise error
        bounded, margin = self._margin is not None, self._margin or 0.0
        derated = self._derated(service)
        simulated = self._simulator.simulate(derated, memory=bounded, margin=margin)
        result, figures = self._bands.answered(service, simulated)
        metrics = {**_metrics(result), **figures, **self._costs(service, result)}
        pools = result.reading, result.answering
        short = [f"{pool.memory_fit.reason}" for pool in pools if pool.memory_fit.is_short]
        return Account(metrics, (*result.notes, *dict.fromkeys(short)))

    def _derated(self, service: Service) -> Service:
        """*service* with the bandwidths that can be used."""
        platform = service.platform.with_share(self.input.bandwidth)
        return service.model_copy(update={"platform": platform})

    def _costs(self, service: Service, result: "simcore.ServiceResult") -> Mapping[str, float]:
        """Costs of the machine, and of an answer's token while it is busy."""
        if self._meter is None:
            return {}
        return self._meter.metrics(service.platform, 1 / result.requests_per_s, result.answer)

    def priced(self, design: Design, metrics: Mapping[str, float]) -> PricedMachine | None:
        service = self.service(design)
        return PricedMachine(service.platform, 1 / metrics["requests_per_s"], service.answer)

    def attributions(self, design: Design) -> "Sequence[simcore.Attribution]":
        return simcore.attribute_service(self._derated(self.service(design)))

    def runs(self, design: Design) -> Mapping[str, Run]:
        service = self.service(design)
        return {"prefill": service.prefill_run, "decode": service.decode_run}

    def moved(self, design: Design) -> Iterator[Moved]:
        service = self.service(design)
        for lever, factor, platform in moved_platforms(service.platform):
            other = service.model_copy(update={"platform": platform})
            simulated = self._simulator.simulate(self._derated(other))
            result, figures = self._bands.answered(other, simulated)
            metrics = {**_metrics(result), **figures}
            yield priced_move(lever, factor, platform, metrics, partial(self._costs, other, result))

    def checks(self) -> Sequence[Check]:
        return design_checks(self.input, lambda one: self.service(one).platform, self._fits)

    def _fits(self, design: Design) -> bool:
        bounded, margin = self._margin is not None, self._margin or 0.0
        try:
            self._service_checks.check(self.service(design), memory=bounded, margin=margin)
        except InfeasibleError:
            return False
        return True

    def measured_against(self, design: Design) -> str:
        return str(self._bands.band(self.service(design).decode_run))

    def siblings(self, design: Design) -> Siblings:
        return siblings_of(self.service(design).decode_run)

    def accelerator(self, design: Design) -> str:
        return little_known(self.service(design).platform.npu)

    def check(self) -> None:
        check_goals(self.input, METRICS | COST_METRICS, "a service")
        service = KnobChecker(self.input, DesignServices).check()
        with errors_named_for_run():
            service.platform.npu.peak(service.precision)
            with suppress(InfeasibleError):  # the knobs may mend that; names they cannot
                check_kernel_times(service.decode_run)
                self._service_checks.check(service, memory=False)

    def check_example(self, design: Design) -> None:
        service = self.service(design)
        npus = service.prefill.plan.npus + service.decode.plan.npus
        if npus != service.platform.npus:
            rule = f"both pools must use the {service.platform.npus} NPUs of the platform together"
            raise ConfigError("space.require", rule, got=npus)


def _metrics(result: "simcore.ServiceResult") -> dict[str, float]:
    """All but the bands and the costs."""
    pools = result.reading, result.answering
    return {
        **result.metrics(),
        "footprint_bytes": float(max(pool.footprint_bytes for pool in pools)),
        **fills(*(pool.memory_fit for pool in pools)),
    }
