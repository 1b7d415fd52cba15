"""Accelerators by the names that tables of load tests and of batches give them."""

import re
from dataclasses import dataclass

from simcore.validation.rows import MeasuredRow, UnsupportedRow

GPU_ENGINES = ("vllm", "tensorrt_llm")
"""Engines that tables of NVIDIA's accelerators come from, where a row names none."""


@dataclass(frozen=True, slots=True)
class Served:
    """An accelerator as tables of batches name it.

    Attributes:
        accelerator: Its name in tables of training.
        engines: Engines of which one ran, as in ``configs/engines``.
        was_held: Predictions were held against batches that ran on it.
        board: Its name where load tests mean another board than tables of batches do; empty: the
            same.
    """

    accelerator: str
    engines: tuple[str, ...] = GPU_ENGINES
    was_held: bool = True
    board: str = ""

    @property
    def load_tested(self) -> str:
        """The accelerator of load tests, in tables of training."""
        return self.board or self.accelerator


SERVED = {
    "a100": Served("A100-40GB-SXM", board="A100-80GB-SXM"),
    "a100-80gb": Served("A100-80GB-SXM", was_held=False),
    "h100": Served("H100-80GB-SXM"),
    "h200": Served("H200-141GB-SXM"),
    "gh200": Served("GH200-96GB", ("vllm",)),
    "b200": Served("B200"),
    "b300": Served("B300", was_held=False),
    "gb200": Served("GB200"),
    "gb300": Served("GB300", was_held=False),
    "l40s": Served("L40S", was_held=False),
    "rtx 6000 pro": Served("RTX-PRO-6000", was_held=False),
    "rtx pro 6000": Served("RTX-PRO-6000", was_held=False),
    "mi250": Served("MI250", ("vllm_rocm_cdna2",), was_held=False),
    "mi300x": Served("MI300X", ("vllm_rocm",)),
    "gaudi2": Served("Gaudi2", ("deepspeed_gaudi",)),
    "gaudi3": Served("Gaudi3", ("deepspeed_gaudi",), was_held=False),
}
"""By the tables' own names in small letters. An A100 without more words is the one of 40 GB, and in
load tests that of 80 GB, whose kernels were measured; tables of GH200 name vLLM in 6 of 7 rows.
"""


_SPELLINGS = re.compile(r"[ _]+((sxm\d?|server)\b)?")
"""Blanks, underscores, and forms of boards that say no more than the name does."""


def served_as(row: MeasuredRow) -> Served:
    """The accelerator of *row*.

    Raises:
        UnsupportedRow: It is not known.
    """
    name = _SPELLINGS.sub(" ", row.text("system").lower()).strip()
    if name not in SERVED:
        raise UnsupportedRow(f"system {name or '(none)'} is not modelled: {', '.join(SERVED)}")
    return SERVED[name]
