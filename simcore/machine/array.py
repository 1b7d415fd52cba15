"""Systolic arrays of an accelerator, as ``compute: systolic`` takes them."""

from typing import Literal

from pydantic import Field

from simcore.schema import Bytes, BytesPerS, Hertz, Schema

MOST_ON_A_SIDE = 1 << 16
MOST_ARRAYS = 10**6
"""Arrays of one accelerator; a whole wafer has hundreds of thousands of cores."""


class SystolicArray(Schema):
    """Arrays of multiply-add units that operands pass through, all alike.

    Attributes:
        rows, columns: Units of each.
        arrays: Their number.
        clock_hz: Steps per second; each unit does one multiply-add in each.
        dataflow: Operand that stays in the array: ``os`` the output, ``ws`` the weights, ``is`` the
            input; ``best``: for each product the one that takes the shortest time.
        ifmap_bytes, filter_bytes, ofmap_bytes: Buffers of each array for the input, the weights and
            the output of a product.
        bandwidth_bytes_per_s: Between each of these buffers and memory; None: buffers never wait,
            and only the memory bandwidth of the accelerator bounds a product.
        source: Where the values come from.
    """

    rows: int = Field(ge=1, le=MOST_ON_A_SIDE)
    columns: int = Field(ge=1, le=MOST_ON_A_SIDE)
    arrays: int = Field(default=1, ge=1, le=MOST_ARRAYS)
    clock_hz: Hertz = Field(alias="clock", ge=1e3, le=1e12)
    dataflow: Literal["os", "ws", "is", "best"] = "best"
    ifmap_bytes: Bytes = Field(alias="ifmap", ge=1024, le=1e12)
    filter_bytes: Bytes = Field(alias="filter", ge=1024, le=1e12)
    ofmap_bytes: Bytes = Field(alias="ofmap", ge=1024, le=1e12)
    bandwidth_bytes_per_s: BytesPerS | None = Field(default=None, alias="bandwidth", gt=0)
    source: str = ""
