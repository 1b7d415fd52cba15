"""Evaluates designs by simulating a service of two pools, and pricing the machine."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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
from dse.evaluate.serving.pools import Answered, Key, KnownPools, able
from dse.evaluate.siblings import Siblings
from dse.evaluate.trusted import RunBands, fills, little_known, siblings_of
from dse.objectives import COST_METRICS, Sense
from dse.space import Check, Design
from simcore import (
    ConfigError,
    InfeasibleError,
    Platform,
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


_LATER: Mapping[str, Sense | None] = {
    "request_s": "minimise",
    "requests_per_s": "maximise",
    "tokens_per_s": "maximise",
    "tokens_per_s_per_npu": "maximise",
    "usd_per_token": "minimise",
    "energy_j": "minimise",
    "energy_j_per_token": "minimise",
    "carbon_kg_per_token": "minimise",
}
"""Metrics that the way of the cache makes worse; all others depend on pools and machine alone."""

BESTS: Mapping[str, Sense | None] = {**dict.fromkeys(METRICS | COST_METRICS), **_LATER}
"""See ``Evaluator.bests``."""


class DesignServices(FilledDesigns[Service]):
    """The services of a study whose ``run`` is a service file."""

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what, lambda run, beside: ServiceTemplate.from_table(run, beside=beside))


class ServiceEvaluator(Evaluator):
    """Names in the service and prices are read once; designs share the pools that are alike."""

    fidelity = "service"
    template = ServiceTemplate
    counts_traffic = True
    bests = BESTS

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        with errors_named_for_run():
            self._services = DesignServices(what)
        self._service_checks = ServiceChecks()
        self._margin = what.goals.memory_margin
        self._meter = CostMeter.of(what)
        self._bands = RunBands.of(what)
        self._priced: dict[Key, dict[str, float] | InfeasibleError] = {}

    @cached_property
    def _simulator(self) -> "simcore.ServiceSimulator":
        """The simulator, of which a check has no need."""
        return simcore.ServiceSimulator()

    @cached_property
    def _pools(self) -> KnownPools:
        bounded, margin = self._margin is not None, self._margin or 0.0
        simulator = self._simulator

        def answered(service: Service) -> Answered:
            pool = simulator.answering(self._derated(service), memory=bounded, margin=margin)
            return Answered(pool, self._bands.factor(service.decode_run))

        def read(service: Service) -> "simcore.Reading":
            pool = simulator.reading(self._derated(service), memory=bounded, margin=margin)
            return replace(pool, made_ns={})  # of many pools, and nothing is sent

        return KnownPools(self.input.parameters, self.service, read, answered)

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

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        result = self._pools.best(design)
        return {**_metrics(result), **self._machine_costs(design, result)}

    def _machine_costs(
        self, design: Design, result: "simcore.ServiceResult"
    ) -> Mapping[str, float]:
        """``_costs``, with each machine priced once."""
        key = self._pools.machine_key(design)
        if key not in self._priced:
            self._priced[key] = self._priced_machine(self._pools.machine(design))
        found = able(self._priced[key])
        if self._meter is None:
            return {}
        return self._meter.timed(found, 1 / result.requests_per_s, result.answer)

    def _priced_machine(self, platform: Platform) -> dict[str, float] | InfeasibleError:
        """Costs of a machine; or why it cannot be built, or is not sold."""
        if self.input.physical and (error := unbuildable(platform)):
            return error
        try:
            return {} if self._meter is None else self._meter.machine(platform)
        except InfeasibleError as error:
            return error.with_traceback(None)

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
