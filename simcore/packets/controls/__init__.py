"""Congestion controls by name; a new one is a file here, its kernels, and its line below."""

from simcore.errors import ConfigError
from simcore.packets.controls.base import Control
from simcore.packets.controls.dcqcn import DCQCN
from simcore.packets.controls.dcqcn_paper import DCQCN_PAPER
from simcore.packets.controls.dctcp import DCTCP
from simcore.packets.controls.gap_table import INFINIBAND
from simcore.packets.controls.hpcc import HPCC
from simcore.packets.controls.hpcc_paper import HPCC_PAPER
from simcore.packets.controls.none import NONE
from simcore.packets.controls.swift import SWIFT
from simcore.packets.controls.tcp import CUBIC, DCTCP_WINDOW, RENO
from simcore.packets.controls.timely import TIMELY
from simcore.packets.controls.timely_paper import TIMELY_PAPER
from simcore.packets.parameters import Parameters
from simcore.registry import Registry

CONTROLS: Registry[Control] = Registry(
    "congestion control",
    {
        "none": NONE,
        "dcqcn": DCQCN,
        "hpcc": HPCC,
        "timely": TIMELY,
        "dctcp": DCTCP,
        "dcqcn_paper": DCQCN_PAPER,
        "hpcc_paper": HPCC_PAPER,
        "timely_paper": TIMELY_PAPER,
        "swift": SWIFT,
        "reno": RENO,
        "cubic": CUBIC,
        "dctcp_window": DCTCP_WINDOW,
        "infiniband": INFINIBAND,
    },
)

_BY_MODE = ("dcqcn", "hpcc", "timely", "dctcp")
_UNKNOWN_HERE = {10: "HPCC with probabilistic telemetry (PINT)"}


def control_of(run: Parameters) -> Control:
    """The control of a run: by name, or what ``cc_mode`` means to the reference.

    A number that the reference does not know means none.

    Raises:
        ConfigError: The reference knows it, and it is not modelled here; or an unknown name.
    """
    if run.control:
        if run.control not in CONTROLS:
            raise CONTROLS.unknown(run.control, at="params.control")
        return CONTROLS[run.control]
    if run.cc_mode in _UNKNOWN_HERE:
        rule = f"must be a congestion control that is modelled; {_UNKNOWN_HERE[run.cc_mode]} is not"
        raise ConfigError("params.cc_mode", rule, got=run.cc_mode)
    return next((CONTROLS[name] for name in _BY_MODE if CONTROLS[name].code == run.cc_mode), NONE)
