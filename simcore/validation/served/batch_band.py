"""Band around the throughput of a batch in which four of five measured ones lie."""

from simcore.validation.rows import MeasuredRow
from simcore.validation.served.batch_rows import FULL_LOAD
from simcore.validation.served.systems import served_as

WHOLE = 0.81, 1.27
"""Measured over predicted throughput of whole batches: 83 % of 1,403 public rows lie between.

The nearest 80 % lie within 0.82 and 1.23, but such a band holds only 77 % of the rows of a model,
and 78 % of those of an accelerator, that it was made without.
"""

FULL = 0.81, 1.24
"""Likewise at full load: 80 % of 191 rows, and 78 to 80 % of those left out."""

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
