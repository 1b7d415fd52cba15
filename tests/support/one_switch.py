"""A machine of one switch, for stages of a pipeline whose times are given."""

from simcore.engines.collectives.ends import SharedEnds
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.workload.program.write import TrainingProgram


def ends_on_one_switch(program: TrainingProgram) -> SharedEnds:
    """Ends of the collectives between the stages of *program*."""
    plan = program.plan
    dimension = Dimension(
        topology="switch", npus=plan.npus, bandwidth_bytes_per_s=1e11, latency_s=0.0
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=(dimension,))
    return SharedEnds(platform, System(), program.collectives, plan.stage_stride)
