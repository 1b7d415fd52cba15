"""Rows of batches: what was asked for, and how a table says it."""

from dataclasses import dataclass, replace

from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.mapping import Shape
from simcore.validation.served.models import context_of, served_model
from simcore.workload import Model

FORMATS = {
    "": "bf16",
    "fp16/bf16": "bf16",
    "bf16": "bf16",
    "fp16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "fp4": "nvfp4",
    "nvfp4": "nvfp4",
    "mxfp4": "w4a16_mxfp4",
    "int4": "int4_wo",
}
"""Formats of weights in tables of load tests by ``precision``."""

FULL_LOAD = "max load"
"""``batch`` of a row in which all requests wait at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Prompts and answers of equal lengths, and the instance of an engine that works on them.

    Attributes:
        row: With the columns of load tests.
        sequences: Of one instance; None: as many as the engine takes, and others wait.
        instances: Copies of the instance with a part of the sequences each.
        prompt, answer: Tokens of each, as the row has them.
        written: Tokens of the answer that the engine writes: none has a place after the last
            one that the model was trained for.
        counted: Tokens of each sequence that the row counts.
    """

    row: MeasuredRow
    model: Model
    shape: Shape
    sequences: int | None
    instances: int
    prompt: int
    answer: int
    written: int
    counted: int

    @classmethod
    def of(cls, row: MeasuredRow) -> "Batch":
        """The batch of *row*.

        Raises:
            UnsupportedRow: The row asks for something that is not modelled.
            ConfigError: A cell holds no number where one is needed.
        """
        model = served_model(row.text("model"))
        tp = row.count("tp") or 1
        npus, ep = row.count("num_gpus") or tp, row.count("ep") or 1
        if npus % tp:
            raise UnsupportedRow(f"{npus} accelerators do not divide by tp = {tp}")
        if row.text("precision") not in FORMATS:
            raise UnsupportedRow(f"precision {row.text('precision')} is not modelled")
        full = row.text("batch") == FULL_LOAD
        if model.has_experts and (full or ep > 1 or npus > tp):
            tp, copies, ep = (1, npus, npus) if full else (tp, npus // tp, ep)
        else:
            copies = 1
        cells = _as_load_test(row, copies=copies, tp=tp, ep=ep)
        shape = Shape.of(cells, model)
        prompt, answer = _needed(row, "input_len"), _needed(row, "output_len")
        instances = max(1, npus // shape.npus)
        left = max(1, context_of(row.text("model")) - prompt)
        return cls(
            row=cells,
            model=model,
            shape=shape,
            sequences=None if full else -(-_needed(row, "batch") // instances),
            instances=instances,
            prompt=prompt,
            answer=answer,
            written=min(answer, left),
            counted=answer + (prompt if _counts_prompts(row) else 0),
        )

    @property
    def collectives(self) -> int:
        """Collectives of a step: after attention and after the MLP or experts of each layer."""
        if self.shape.npus == 1:
            return 0
        return sum(len(kind) for kind in self.model.layer_kinds)


def _as_load_test(row: MeasuredRow, *, copies: int, tp: int, ep: int) -> MeasuredRow:
    """*row* with the columns of a load test that runs are built from."""
    format_ = FORMATS[row.text("precision")]
    npus = tp * copies
    spread = ep if ep > 1 else (npus if copies > 1 else 1)
    cells = {
        "gemm_format": format_,
        "moe_format": format_,
        "tp": str(tp),
        "attention_dp": str(copies),
        "moe_ep": str(spread),
        "moe_tp": str(max(1, npus // spread)),
    }
    return replace(row, cells={**row.cells, **cells})


def _counts_prompts(row: MeasuredRow) -> bool:
    """True if the row's rate counts the tokens of prompts, too."""
    told = row.text("counts")
    if not told.startswith(("input", "output")) and told:
        raise UnsupportedRow(f"counts must be 'input and output' or 'output', not '{told}'")
    return told.startswith("input")


def _needed(row: MeasuredRow, column: str) -> int:
    value = row.count(column)
    if value is None:
        raise UnsupportedRow(f"{column} is not told")
    return value
