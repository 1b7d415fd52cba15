"""Text workloads of ASTRA-sim 1.0, and their conversion to Chakra traces."""

from simcore.formats.text_workload.convert import Conversion, convert_text, write_conversion
from simcore.formats.text_workload.expand import EXPANSIONS
from simcore.formats.text_workload.layers import TextWorkload, read_text_workload

__all__ = [
    "EXPANSIONS",
    "Conversion",
    "TextWorkload",
    "convert_text",
    "read_text_workload",
    "write_conversion",
]
