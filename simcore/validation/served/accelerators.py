"""Accelerators of measured batches: their machine, and the engines that are known to run on it."""

from dataclasses import dataclass
from functools import cache

from simcore.machine import Platform
from simcore.validation.machine import ACCELERATORS, Machines
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.batch_rows import FULL_LOAD
from simcore.validation.served.engine import ServingEngine
from simcore.validation.served.links import links_of

GPU_ENGINES = ("vllm", "tensorrt_llm")
"""Engines that tables of NVIDIA's accelerators come from, where a row names none."""


@dataclass(frozen=True, slots=True)
class Served:
    """An accelerator as tables of batches name it.

    Attributes:
        accelerator: Its name in tables of training.
        engines: Engines of which one ran, as in ``configs/engines``.
        was_held: Predictions were held against batches that ran on it.
    """

    accelerator: str
    engines: tuple[str, ...] = GPU_ENGINES
    was_held: bool = True


SERVED = {
    "a100": Served("A100-40GB-SXM"),
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
"""By the tables' own names in small letters. An A100 without more words is the one of 40 GB; tables
of GH200 name vLLM in 6 of 7 rows."""

NAMED_ENGINES = {
    "vllm": "vllm",
    "tensorrt-llm": "tensorrt_llm",
    "deepspeed-mii": "deepspeed_mii",
}
"""Engines by the names that a column ``backend`` may hold."""

OWN_ENGINES: dict[tuple[str, ...], str] = {
    ("vllm_rocm",): "vllm",
    ("vllm_rocm_cdna2",): "vllm",
    ("deepspeed_gaudi",): "deepspeed",
}
"""Names in ``backend`` of the only engine of an accelerator."""

FULL_LOAD_ENGINE = "tensorrt_llm_offline"
"""Engine behind rows in which all requests wait at once."""


class ServedMachines:
    """Builds the platforms and engines of rows; files are read once."""

    def __init__(self) -> None:
        self._machines = Machines()
        self.engine = cache(ServingEngine.load)

    def engines(self, row: MeasuredRow) -> tuple[ServingEngine, ...]:
        """Engines of which one ran the batch of *row*: the named one, or all that may have.

        Raises:
            UnsupportedRow: The row names an accelerator or an engine that is not known.
        """
        named = row.text("backend").lower().replace("trtllm", "tensorrt-llm")
        engines = served_as(row).engines
        if engines in OWN_ENGINES:
            known = {OWN_ENGINES[engines]: engines[0]}
        else:
            full = row.text("batch") == FULL_LOAD
            engines = (FULL_LOAD_ENGINE,) if full else engines
            known = NAMED_ENGINES | ({"tensorrt-llm": FULL_LOAD_ENGINE} if full else {})
        if named and named not in known:
            raise UnsupportedRow(f"engine {named} on {row.text('system')} is not modelled")
        return tuple(self.engine(name) for name in ((known[named],) if named else engines))

    def platform(self, row: MeasuredRow, npus: int, message_bytes: float) -> Platform:
        """*npus* accelerators of the row, as its scale-up links and its network join them.

        Raises:
            UnsupportedRow: The accelerator is not known.
        """
        accelerator = ACCELERATORS[served_as(row).accelerator]
        return Platform.build(
            "platform",
            name=f"{npus} x {accelerator.npu}",
            npu=self._machines.npu(accelerator.npu),
            dimensions=links_of(self._machines, accelerator, npus, message_bytes),
        )


def served_as(row: MeasuredRow) -> Served:
    """The accelerator of *row*.

    Raises:
        UnsupportedRow: It is not known.
    """
    name = row.text("system").lower()
    if name not in SERVED:
        raise UnsupportedRow(f"system {name or '(none)'} is not modelled: {', '.join(SERVED)}")
    return SERVED[name]
