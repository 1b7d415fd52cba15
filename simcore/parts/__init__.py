"""Parts that machines are built of, with prices, powers and sources, and lines of bills."""

from simcore.parts.cables import BEYOND_M, HALL_ENDPOINTS, HALL_M, RACK_M, ROW_M, Links, cabled
from simcore.parts.catalogue import Catalogue, shipped_parts
from simcore.parts.lines import BillLine, bill_line, merged_lines
from simcore.parts.networks import HostPorts, NetworkBill, network_bill
from simcore.parts.part import GBPS, Part

__all__ = [
    "BEYOND_M",
    "GBPS",
    "HALL_ENDPOINTS",
    "HALL_M",
    "RACK_M",
    "ROW_M",
    "BillLine",
    "Catalogue",
    "HostPorts",
    "Links",
    "NetworkBill",
    "Part",
    "bill_line",
    "cabled",
    "merged_lines",
    "network_bill",
    "shipped_parts",
]
