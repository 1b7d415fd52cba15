"""The placement of a run's ranks on its machine."""

import numpy as np

from simcore.engines.collectives.scheduled import check_located
from simcore.engines.placed.links import PlacedLinks
from simcore.engines.placed.place import Placed, place_ranks
from simcore.engines.placed.traffic import AxisTraffic, ProgramTraffic
from simcore.engines.stages.plan_code import plan_code
from simcore.engines.stages.times import place_groups
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.memo import Memo
from simcore.network.dimensions import engine_dimensions
from simcore.placement.choice import PlacementChoice
from simcore.workload import ParallelPlan, Workload


def traffic_of(
    workload: Workload, plan: ParallelPlan, platform: Platform, system: System, memo: Memo
) -> list[AxisTraffic]:
    """Bytes of an iteration from rank to rank, by axis.

    Raises:
        InfeasibleError: The plan does not fit the workload, or a group does not tile the machine.
    """
    known = plan_code(workload, plan, memo)
    places = place_groups(known.program.groups, platform.dimensions)
    traffic = ProgramTraffic(platform.dimensions, system, plan, places)
    return traffic.by_axis(known.program.collectives, known.counts)


def placed_on(
    choice: PlacementChoice,
    workload: Workload,
    plan: ParallelPlan,
    platform: Platform,
    system: System,
    memo: Memo,
) -> Placed:
    """Ranks of *workload* under *plan* on the NPUs of *platform*.

    Raises:
        ConfigError: They cannot be placed so.
        InfeasibleError: As ``traffic_of``.
    """
    check_located(system, len(platform.dimensions), platform.dimensions)

    def place() -> Placed:
        links = PlacedLinks(engine_dimensions(platform.dimensions))
        traffic = traffic_of(workload, plan, platform, system, memo)
        return place_ranks(choice, traffic, links, np.arange(platform.npus))

    key = choice, workload, plan, platform.dimensions, system
    return memo.of("placement", key, place)
