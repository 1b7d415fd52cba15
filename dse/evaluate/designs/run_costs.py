"""Costs of the machines of a run file's runs, known before any of them is simulated."""

from collections.abc import Mapping
from functools import cache

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.money import CostMeter
from dse.evaluate.priced import MachineCosts
from dse.space import Design
from simcore import plain_sum, unbuildable

_MACHINE = ("platform.", "workload.")
"""Starts of the paths that the price of a machine and of a token depends on."""


def costs_of_runs(what: EvaluatorInput) -> MachineCosts:
    """Costs of the platforms that designs mean, as the study's ``cost`` has them."""
    meter = CostMeter.of(what)

    @cache
    def runs() -> DesignRuns:  # asked for late: of scenarios, the run they change may be in parts
        return DesignRuns(what)

    def metrics(design: Design) -> Mapping[str, float]:
        run = runs().run(design)
        if what.physical and (error := unbuildable(run.platform)):
            raise error
        bandwidth = plain_sum(
            dimension.bandwidth_bytes_per_s for dimension in run.platform.dimensions
        )
        found = {"npu_bandwidth_bytes_per_s": float(bandwidth)}
        if meter is not None:
            found |= meter.metrics(run.platform, 1.0, run.workload.tokens)
        return found

    deciding = frozenset(
        name
        for name, parameter in what.parameters.items()
        if any(path.startswith(_MACHINE) for path in parameter.targets or (name,))
    )
    return MachineCosts(metrics=metrics, deciding=deciding, rise=meter is None or meter.rises)
