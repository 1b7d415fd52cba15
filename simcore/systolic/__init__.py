"""Systolic arrays: cycles, accesses and stalls of layers, as SCALE-Sim v2 counts them."""

from simcore.systolic.busy import Busy, busy
from simcore.systolic.layer import Array, Dataflow, Layer
from simcore.systolic.report import Report, report

__all__ = ["Array", "Busy", "Dataflow", "Layer", "Report", "busy", "report"]
