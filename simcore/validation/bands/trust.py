"""Trust in predictions on an accelerator, from what was measured on it."""

from simcore.machine import Npu
from simcore.validation.bands.classes import SERVING, TRAINING
from simcore.validation.bands.shipped import shipped
from simcore.validation.bands.silicon import measured_twin, served_name

MANY = 20
"""Measured runs from which an accelerator does not count as one of few."""


def accelerator_trust(npu: Npu) -> str:
    """Trust in one line: measured runs, few of them, another of the same chip, or data sheet."""
    training, serving = shipped(TRAINING), shipped(SERVING)
    runs = training.rows("npu", npu.name)
    tests = serving.rows("npu", served_name(npu.name))
    if runs or tests:
        many = max(runs, tests) >= MANY
        parts = [
            f"{count:,} {what}{'s' if count > 1 else ''}"
            for count, what in ((runs, "training run"), (tests, "load test"))
            if count
        ]
        return f"{'measured' if many else 'few measured runs'}: {' and '.join(parts)}"
    if twin := measured_twin(npu, training.known("npu")):
        return f"same chip as {twin}, which was measured"
    return "data sheet only: nothing was measured on it"
