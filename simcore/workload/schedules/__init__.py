"""Pipeline schedules by the names that plans use."""

from simcore.registry import Registry, class_of
from simcore.workload.schedules.base import PipelineSchedule, Units, stacked
from simcore.workload.schedules.dualpipe import DualPipe
from simcore.workload.schedules.forward import ForwardOnly
from simcore.workload.schedules.gpipe import GPipe
from simcore.workload.schedules.one_f_one_b import OneForwardOneBackward
from simcore.workload.schedules.overlapped import Overlapped
from simcore.workload.schedules.zero_bubble import ZeroBubble

SCHEDULES: Registry[type[PipelineSchedule]] = Registry(
    "schedule",
    {
        "1f1b": OneForwardOneBackward,
        "gpipe": GPipe,
        "1f1b_overlapped": Overlapped,
        "zb_h1": ZeroBubble,
        "dualpipe": DualPipe,
        "forward": ForwardOnly,
    },
    adapt=class_of(PipelineSchedule),
)

__all__ = ["SCHEDULES", "PipelineSchedule", "Units", "stacked"]
