"""No congestion control: every flow sends at its line's rate, within its window if it has one."""

from simcore.packets.controls.base import Control

NONE = Control(code=0)
