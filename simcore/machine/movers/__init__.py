"""Engines of an accelerator that move and reduce data: one class per kind, and their names."""

from simcore.machine.movers.base import MOST_TAKEN, Mover
from simcore.machine.movers.copy_engines import CopyEngines
from simcore.machine.movers.cores import Cores
from simcore.machine.movers.nic import Nic
from simcore.machine.movers.registry import MOVERS
from simcore.machine.movers.table import MoverTable, known_mover

__all__ = [
    "MOST_TAKEN",
    "MOVERS",
    "CopyEngines",
    "Cores",
    "Mover",
    "MoverTable",
    "Nic",
    "known_mover",
]
