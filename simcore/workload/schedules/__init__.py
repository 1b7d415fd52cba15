"""Pipeline schedules by the names that plans use."""

from simcore.registry import Registry, class_of
from simcore.workload.schedules.base import PipelineSchedule, Units, stacked

SCHEDULES: Registry[type[PipelineSchedule]] = Registry(
    "schedule",
    {
        "1f1b": "simcore.workload.schedules.one_f_one_b:OneForwardOneBackward",
        "gpipe": "simcore.workload.schedules.gpipe:GPipe",
        "1f1b_overlapped": "simcore.workload.schedules.overlapped:Overlapped",
        "zb_h1": "simcore.workload.schedules.zero_bubble:ZeroBubble",
        "dualpipe": "simcore.workload.schedules.dualpipe:DualPipe",
        "forward": "simcore.workload.schedules.forward:ForwardOnly",
    },
    adapt=class_of(PipelineSchedule),
)

__all__ = ["SCHEDULES", "PipelineSchedule", "Units", "stacked"]
