"""Bands of the iteration times of designs, moved by runs of one's own where a study names them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import simcore
from dse.evaluate.base import EvaluatorInput
from dse.evaluate.siblings import Siblings
from simcore import Npu, Run

_LONGER = ("iteration_time_s",)
_RATES = ("tokens_per_s", "mfu", "hfu")


@dataclass(frozen=True, slots=True)
class RunBands:
    """Bands of runs.

    Attributes:
        site: Runs of one's own; None: there are none.
    """

    site: "simcore.Site | None"

    @classmethod
    def of(cls, what: EvaluatorInput) -> "RunBands":
        """Bands of a study's runs.

        Raises:
            ConfigError: The file of its calibration cannot be read.
        """
        if not what.calibration:
            return cls(None)
        return cls(simcore.Site(simcore.load_calibration(Path(what.folder) / what.calibration)))

    def band(self, run: Run) -> "simcore.Band":
        """The band of the simulated time of *run*."""
        return simcore.prediction_band(run) if self.site is None else self.site.band(run)

    def factor(self, run: Run) -> float:
        """Factor of the simulated time of *run* that a calibration gives; 1 without one."""
        return 1.0 if self.site is None else self.site.band(run).middle

    def applied(self, run: Run, metrics: Mapping[str, float]) -> dict[str, float]:
        """*metrics* with the ends of the band; with a calibration, the time is its middle.

        What was simulated then stands under ``simulated_time_s``; its parts stay as simulated.
        """
        band, simulated_s = self.band(run), metrics["iteration_time_s"]
        found = {**metrics, **band.figures("iteration_time", simulated_s)}
        if self.site is not None:
            found["simulated_time_s"] = simulated_s
            found |= {name: metrics[name] * band.middle for name in _LONGER}
            found |= {name: metrics[name] / band.middle for name in _RATES if name in metrics}
        return found

    def answered(
        self, service: "simcore.Service", simulated: "simcore.ServiceResult"
    ) -> "tuple[simcore.ServiceResult, dict[str, float]]":
        """*simulated*, and metrics of its band; with a calibration, a token's time is its middle.

        What was simulated is then under ``simulated_time_per_output_token_s``, and requests and
        rates are those of the time that moved.
        """
        band, token_s = self.band(service.decode_run), simulated.time_per_output_token_s
        figures = band.figures("time_per_output_token", token_s)
        if self.site is None:
            return simulated, figures
        return simulated.answered(band.middle), {
            **figures,
            "simulated_time_per_output_token_s": token_s,
        }


def fills(*fits: "simcore.MemoryFit") -> dict[str, float]:
    """Metrics of the fullest of some NPUs: parts of its memory, by how much is counted.

    The tensors alone; these with context, buffers and workspace; and with fragments too.
    """
    return {
        "memory_fill": max(fit.held_bytes / fit.capacity_bytes for fit in fits),
        "memory_fill_expected": max(fit.expected_bytes / fit.capacity_bytes for fit in fits),
        "memory_fill_highest": max(fit.highest_bytes / fit.capacity_bytes for fit in fits),
    }


def siblings_of(run: Run) -> Siblings:
    """Runs whose predictions err as that of *run*: of its model, on its accelerator."""
    error = simcore.sibling_error(run)
    family = f"{run.workload.model.name} on {run.platform.npu.name}"
    return Siblings(family=family, log_ratio=error.log_ratio, reason=str(error))


def little_known(npu: Npu) -> str:
    """Accelerator and trust in it, where little or nothing was measured on it; else empty."""
    trust = simcore.accelerator_trust(npu)
    return "" if trust.startswith("measured") else f"{npu.name}: {trust}"
