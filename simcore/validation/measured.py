"""The measured time of a row, also where a rate was published in its place."""

from simcore.errors import ConfigError, SimcoreError
from simcore.terms import Precision
from simcore.validation.models import model_of
from simcore.validation.rows import Row
from simcore.workload import TrainingWorkload

MOST_BY_CONVENTION = 0.1
"""Share of the FLOP that may depend on whether masked scores were counted."""
TERA = 1e12


def training_s(row: Row) -> float | None:
    """The measured time of one training iteration, in s; None where the row does not tell it.

    A rate in model FLOP stands for the time of a whole iteration's model FLOP, masked scores
    counted as in the PaLM paper (A. Chowdhery et al., arXiv:2204.02311, appendix B), unless much
    depends on that. Rates of FLOP that are executed, or counted in some other way, tell nothing.

    Raises:
        ConfigError: A cell holds no number where one is due, or one below 0.
    """
    measured_s = _known(row, "iter_time_s")
    if measured_s is not None:
        return measured_s
    rate, npus = _known(row, "tflops_per_gpu"), _known(row, "num_gpus")
    if rate is None or npus is None or "model FLOP" not in row.text("flops_convention"):
        return None
    flop = _model_flop(row)
    return None if flop is None else flop / (rate * TERA * npus)


def collective_s(row: Row) -> float | None:
    """The measured time of one collective, in s.

    Raises:
        ConfigError: The cell holds no number, or one below 0.
    """
    measured_us = _known(row, "time_us")
    return None if measured_us is None else measured_us * 1e-6


def _known(row: Row, column: str) -> float | None:
    """The cell's number; None where it is empty or 0, which is how some tables say unknown."""
    value = row.number(column)
    if value is not None and value < 0:
        raise ConfigError(f"{row.at}: {column}", "must be above 0, or empty", got=value)
    return value or None


def _model_flop(row: Row) -> float | None:
    """Model FLOP of one iteration; None where they are not told or differ much by convention."""
    sequence, sequences = row.count("seq_len"), row.count("global_batch")
    if not sequence or not sequences:
        return None
    try:
        model = model_of(row)
        counted = [
            TrainingWorkload.build(
                "workload",
                model=model.model_copy(update={"causal": causal}),
                sequence=sequence,
                global_batch=sequences,
                precision=Precision.BF16,
            ).model_flop
            for causal in (True, False)
        ]
    except SimcoreError:
        return None
    masked, whole = counted
    return whole if whole / masked - 1 <= MOST_BY_CONVENTION else None
