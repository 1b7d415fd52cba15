"""Placement of embedding tables, and the lookups and exchanges of one NPU that follow from it.

With n NPUs that have b samples each, tables of T vectors of width D, and P lookups per sample in
all tables together:

- ``table``: every NPU holds whole tables and looks them up for all n b samples. An all-to-all
  brings each sample's vectors home: every NPU hands over w b T D bytes.
- ``column``: tables are cut into *columns* narrower ones, which are then dealt out like tables.
  The bytes are the same; indices travel to every part of their table.
- ``row``: every NPU holds some rows of each table, so that each has a part of every sum. A
  reduce-scatter of w n b T D bytes adds them up; an all-gather brings the gradients.

Indices of 8 bytes travel to the tables before, in an all-to-all of 8 b P bytes. Where tables cannot
be dealt out evenly, the NPU with most of each quantity stands for all.

Source: D. Mudigere et al., "Software-Hardware Co-design for Fast and Scalable Training of Deep
Learning Recommendation Models", ISCA 2022, section 4.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from pydantic import Field

from simcore.schema import Schema
from simcore.units import plain_sum

INDEX_BYTES = 8


class Tables(Schema):
    """Keeping and exchange of the embedding tables.

    Attributes:
        sharding: ``table``, ``row`` or ``column``.
        columns: Parts into which ``column`` cuts a table.
        format: In which they are stored.
        exchange_format: In which vectors and their gradients travel; as activations if not given.
        host_part: Part of the bytes of all tables that lies in the memory of the host.
        cached_part: Part of the lookups there whose rows are in the NPU's own memory all the same.
        prefetched_indices: Indices were exchanged beside the iteration before.
    """

    sharding: Literal["table", "row", "column"] = "table"
    columns: int = Field(default=1, ge=1, le=1024)
    format: Literal["fp32", "bf16", "fp16"] = "fp32"
    exchange_format: Literal["fp32", "bf16", "fp16", "fp8"] | None = None
    host_part: float = Field(default=0.0, ge=0, le=1)
    cached_part: float = Field(default=0.0, ge=0, le=1)
    prefetched_indices: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Tables and lookups of the busiest NPU.

    Attributes:
        vectors: Vectors that it gives each sample, in whole widths.
        lookups: Rows that it reads for each sample, in whole widths.
        indices: Indices that it is sent for each sample.
        rows: Rows of all its tables, in whole widths.
        states: Rows of all its tables, narrow ones too: each has a number of the optimizer.
    """

    vectors: float
    lookups: float
    indices: float
    rows: float
    states: float


Shape = tuple[int, int, int]
"""Count, rows and pooling of equal tables."""


def hold(shapes: tuple[Shape, ...], sharding: str, columns: int, npus: int) -> Holding:
    """The holding of the busiest of *npus* NPUs."""
    if sharding == "row":
        rows = sum(count * -(-rows // npus) for count, rows, _ in shapes)
        lookups = plain_sum(count * pooling for count, _, pooling in shapes) / npus
        vectors = sum(count for count, _, _ in shapes)
        return Holding(
            vectors=vectors, lookups=lookups, indices=lookups, rows=float(rows), states=rows
        )
    parts = columns if sharding == "column" else 1
    return _dealt_out(shapes, parts, npus)


def _dealt_out(shapes: tuple[Shape, ...], parts: int, npus: int) -> Holding:
    """Tables from the busiest to the least busy, each to the NPU that has least to look up."""
    pieces = [(pooling, rows) for count, rows, pooling in shapes for _ in range(count * parts)]
    free = [(0, npu) for npu in range(npus)]
    held: list[list[tuple[int, int]]] = [[] for _ in range(npus)]
    for pooling, rows in sorted(pieces, reverse=True):
        lookups, npu = heappop(free)
        held[npu].append((pooling, rows))
        heappush(free, (lookups + pooling, npu))
    indices = max(sum(pooling for pooling, _ in own) for own in held)
    rows = max(sum(rows for _, rows in own) for own in held)
    return Holding(
        vectors=max(map(len, held)) / parts,
        lookups=indices / parts,
        indices=float(indices),
        rows=rows / parts,
        states=float(rows),
    )
