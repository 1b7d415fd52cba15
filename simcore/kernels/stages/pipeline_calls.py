"""The kernels of the pipeline as Python calls them: with arrays, whose addresses they get."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu.pointers import pointer
from simcore.kernels.stages import pipeline_finale, pipeline_run
from simcore.kernels.stages.stage_layout import Layout

Ints = NDArray[np.int64]


@njit(cache=True)
def start(fixed: Ints, live: Ints, at: Layout, is_noted: bool) -> None:
    """Begin a run, see ``pipeline_run.start``."""
    pipeline_run.start(pointer(fixed), pointer(live), at, is_noted)


@njit(cache=True)
def run(fixed: Ints, live: Ints, at: Layout) -> int:
    """Go on, see ``pipeline_run.run``."""
    return pipeline_run.run(pointer(fixed), pointer(live), at)


@njit(cache=True)
def resolve(fixed: Ints, live: Ints, at: Layout, collective: int, ends: Ints, lead_ns: int) -> None:
    """Set the end of a collective between stages, see ``pipeline_finale.resolve``."""
    pipeline_finale.resolve(pointer(fixed), pointer(live), at, collective, pointer(ends), lead_ns)
