"""Machines of measured batches, and the engines that are known to run on them."""

from functools import cache

from simcore.machine import Platform
from simcore.validation.machine import Machines, accelerator_named
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.batch_rows import FULL_LOAD
from simcore.validation.served.engine import ServingEngine
from simcore.validation.served.links import links_of
from simcore.validation.served.systems import served_as

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

    def platform(self, row: MeasuredRow, npus: int, message_bytes: float | None) -> Platform:
        """*npus* accelerators of the row, as its scale-up links and its network join them.

        Raises:
            UnsupportedRow: The accelerator is not known.
        """
        accelerator = accelerator_named(served_as(row).accelerator)
        return Platform.build(
            "platform",
            name=f"{npus} x {accelerator.npu}",
            npu=self._machines.npu(accelerator.npu),
            dimensions=links_of(self._machines, accelerator, npus, message_bytes),
        )
