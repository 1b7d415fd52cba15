"""Accelerators of the same chip."""

from collections.abc import Iterable
from functools import cache

from simcore.files.input_file import files_kept
from simcore.machine import Npu, load_npu


@cache
def _load(name: str) -> Npu:
    """A shipped accelerator; no file that a study names."""
    with files_kept({}):
        return load_npu(name)


def measured_twin(npu: Npu, measured: Iterable[str]) -> str:
    """The first of the *measured* accelerators that multiplies like *npu*; empty: none does."""
    for name in sorted(measured):
        if same_chip(npu, _load(name)):
            return name
    return ""


def same_chip(one: Npu, other: Npu) -> bool:
    """True if the peaks agree in every number format: memory and links may differ."""
    return dict(one.peak_flop_per_s) == dict(other.peak_flop_per_s)


def served_name(npu: str) -> str:
    """Name of an accelerator in tables of load tests: without its memory."""
    return npu.removesuffix("_80").removesuffix("_40")
