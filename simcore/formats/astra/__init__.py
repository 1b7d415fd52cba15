"""ASTRA-sim's own files: read as they are, simulated, and reported in its words."""

from simcore.formats.astra.batch import read_manifest, run_batch, simulate_files
from simcore.formats.astra.options import AstraFiles
from simcore.formats.astra.result import AstraResult, as_plain, lines, write_memory_traces
from simcore.formats.astra.run import AstraRun, load_run

__all__ = [
    "AstraFiles",
    "AstraResult",
    "AstraRun",
    "as_plain",
    "lines",
    "load_run",
    "read_manifest",
    "run_batch",
    "simulate_files",
    "write_memory_traces",
]
