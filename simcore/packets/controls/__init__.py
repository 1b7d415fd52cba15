"""Congestion controls by name; a new one is a file here, its kernels, and its line below."""

from simcore.errors import ConfigError
from simcore.packets.controls.base import Control
from simcore.packets.controls.dcqcn import DCQCN
from simcore.packets.controls.dctcp import DCTCP
from simcore.packets.controls.hpcc import HPCC
from simcore.packets.controls.none import NONE
from simcore.packets.controls.timely import TIMELY
from simcore.registry import Registry

CONTROLS: Registry[Control] = Registry(
    "congestion control",
    {"none": NONE, "dcqcn": DCQCN, "hpcc": HPCC, "timely": TIMELY, "dctcp": DCTCP},
)

_UNKNOWN_HERE = {10: "HPCC with probabilistic telemetry (PINT)"}


def control_of(cc_mode: int) -> Control:
    """The control that *cc_mode* means; a number that the reference does not know means none.

    Raises:
        ConfigError: The reference knows it, and it is not modelled here.
    """
    if cc_mode in _UNKNOWN_HERE:
        rule = f"must be a congestion control that is modelled; {_UNKNOWN_HERE[cc_mode]} is not"
        raise ConfigError("params.cc_mode", rule, got=cc_mode)
    found = [control for _, control in CONTROLS.items() if control.code == cc_mode]
    return found[0] if found else NONE
