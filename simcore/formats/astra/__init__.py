"""ASTRA-sim's own files: read as they are, simulated, and reported in its words.

Public names are imported when first used: one run need not load what many runs need.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcore.formats.astra.batch import read_manifest, run_batch, simulate_files
    from simcore.formats.astra.log.log_files import write_log
    from simcore.formats.astra.log.logged import log_lines
    from simcore.formats.astra.log.printed import lines
    from simcore.formats.astra.options import AstraFiles
    from simcore.formats.astra.result import AstraResult, as_plain, write_memory_traces
    from simcore.formats.astra.run import AstraRun, load_run

_HOMES = {
    "AstraFiles": "options",
    "AstraResult": "result",
    "AstraRun": "run",
    "as_plain": "result",
    "lines": "log.printed",
    "load_run": "run",
    "log_lines": "log.logged",
    "read_manifest": "batch",
    "run_batch": "batch",
    "simulate_files": "batch",
    "write_log": "log.log_files",
    "write_memory_traces": "result",
}

__all__ = [
    "AstraFiles",
    "AstraResult",
    "AstraRun",
    "as_plain",
    "lines",
    "load_run",
    "log_lines",
    "read_manifest",
    "run_batch",
    "simulate_files",
    "write_log",
    "write_memory_traces",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
