"""Kinds of engines that move data, by the names that files use."""

from simcore.machine.movers.base import Mover
from simcore.machine.movers.copy_engines import CopyEngines
from simcore.machine.movers.cores import Cores
from simcore.machine.movers.nic import Nic
from simcore.registry import Registry, class_of

MOVERS: Registry[type[Mover]] = Registry(
    "mover",
    {"cores": Cores, "copy_engines": CopyEngines, "nic": Nic},
    adapt=class_of(Mover),
)
