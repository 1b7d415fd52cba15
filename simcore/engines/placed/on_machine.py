"""The placement of a run's ranks on its machine."""

import numpy as np

from simcore.collectives import SYNTHESISED
from simcore.engines.placed.links import PlacedLinks
from simcore.engines.placed.place import Placed, place_ranks
from simcore.engines.placed.traffic import AxisTraffic, ProgramTraffic
from simcore.engines.stages.plan_code import plan_code
from simcore.engines.stages.times import place_groups
from simcore.errors import ConfigError
from simcore.machine import Platform
from simcore.machine.system import ALGORITHM_KEYS, System
from simcore.memo import Memo
from simcore.network.dimensions import engine_dimensions
from simcore.placement.choice import PlacementChoice
from simcore.terms import CollectiveKind
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
    check_placeable(system, len(platform.dimensions))

    def place() -> Placed:
        links = PlacedLinks(engine_dimensions(platform.dimensions))
        traffic = traffic_of(workload, plan, platform, system, memo)
        return place_ranks(choice, traffic, links, np.arange(platform.npus))

    key = choice, workload, plan, platform.dimensions, system
    return memo.of("placement", key, place)


def check_placeable(system: System, dimensions: int) -> None:
    """Refuse synthesised collectives, whose schedules are made for NPUs where their numbers say.

    Raises:
        ConfigError: Names the first.
    """
    for key in ALGORITHM_KEYS:
        if SYNTHESISED in system.vector(CollectiveKind[key.upper()], dimensions):
            rule = "must have a name of its own where ranks are placed, or jobs share a machine"
            raise ConfigError(f"system.{key}", rule, got=SYNTHESISED)
