"""Records whose fields kernels and Python read alike, by name: ``rows[i]["members"]``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Records = NDArray[np.void]
Record = Any  # one of them


def record_of(kind: type, *names: str) -> np.dtype[np.void]:
    """A record of numbers of one *kind*; of a field ``name:3``, three side by side."""
    fields: list[Any] = []
    for name, _, count in (field.partition(":") for field in names):
        fields.append((name, kind, int(count)) if count else (name, kind))
    return np.dtype(fields, align=True)
