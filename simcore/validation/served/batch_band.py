"""Band around the throughput of a batch in which four of five measured ones lie."""

from simcore.validation.rows import MeasuredRow
from simcore.validation.served.accelerators import served_as
from simcore.validation.served.batch_rows import FULL_LOAD

WHOLE = 0.81, 1.27
"""Measured over predicted throughput of whole batches. Of 1,396 rows 80 % lie between, and 75 to
79 % of those of a model or an accelerator that the band was made without."""

FULL = 0.81, 1.24
"""Likewise at full load: 80 % of 191 rows, 78 % (80 %)."""

UNSEEN = 0.5, 1.6
"""Likewise on accelerators on which no batch was measured: without its rows an accelerator that has
no tables of kernels would be off by as much. A judgement, no quantile: there are two of them."""


def band_of(row: MeasuredRow) -> tuple[float, float]:
    """Least and greatest part of the predicted throughput of *row* that is to be expected.

    Raises:
        UnsupportedRow: Its accelerator is not known.
    """
    if not served_as(row).was_held:
        return UNSEEN
    return FULL if row.text("batch") == FULL_LOAD else WHOLE
