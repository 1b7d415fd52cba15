"""Checks that a run can be simulated and fits in memory, before anything is simulated."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.engines.collectives.placement import place_group
from simcore.engines.collectives.scheduled import check_schedules
from simcore.engines.collectives.switched import check_switches
from simcore.engines.limits.size_range import Demand
from simcore.errors import ConfigError, InfeasibleError
from simcore.machine import Npu, Platform
from simcore.memo import Memo, key_of
from simcore.network import BACKENDS, check_network
from simcore.network.dimensions import engine_dimensions
from simcore.units import format_memory
from simcore.workload import ParallelPlan, Workload, check_plan
from simcore.workload.graph import Axis, GroupLayout
from simcore.workload.groups import group_layouts
from simcore.workload.rules import check_splits

if TYPE_CHECKING:  # structure is checked without
    from simcore.memory.fit import MemoryFit
    from simcore.memory.footprint import Footprint
    from simcore.memory.runtime import RuntimeMemory


class RunChecks:
    """Checks runs, and remembers what the workload and the plan alone decide.

    A search meets the same plans on many machines; what a plan needs is worked out once.
    """

    def __init__(self, memo: Memo | None = None) -> None:
        self._memo = memo or Memo()

    @property
    def memo(self) -> Memo:
        """Memory of what workloads and plans decide."""
        return self._memo

    def check(self, run: Run, *, memory: bool = True, margin: float = 0.0) -> None:
        """Check structure, and memory if asked for, of *run*; see ``check_run``."""
        _check_models(run)
        workload, platform, plan = run.workload, run.platform, run.plan
        self.structure(workload, platform, plan)
        for tier in plan.offload.tiers:
            platform.tier(tier)
        demand = self._memo.of("demand", key_of(workload, plan), lambda: Demand.of(workload, plan))
        demand.check_times(workload, platform, run.system)
        if memory:
            self.memory(workload, platform, plan, margin)

    def structure(self, workload: Workload, platform: Platform, plan: ParallelPlan) -> None:
        """See ``check_structure``."""
        self.structure_on(workload, plan, tuple([one.npus for one in platform.dimensions]))

    def structure_on(self, workload: Workload, plan: ParallelPlan, sizes: tuple[int, ...]) -> None:
        """``structure`` on a network with dimensions of *sizes*."""
        key = key_of(workload, plan), sizes
        self._memo.of("structure", key, lambda: self._structure(workload, plan, sizes))

    def _structure(self, workload: Workload, plan: ParallelPlan, sizes: tuple[int, ...]) -> None:
        check_plan(workload, plan, prod(sizes))
        self.places(self.groups(workload, plan), sizes)

    def groups(self, workload: Workload, plan: ParallelPlan) -> tuple[GroupLayout, ...]:
        """The groups that have to lie on the machine, whatever it is.

        Raises:
            InfeasibleError: The plan does not divide the workload.
        """
        return self._memo.of("groups", key_of(workload, plan), lambda: _groups(workload, plan))

    def places(self, groups: Sequence[GroupLayout], sizes: tuple[int, ...]) -> None:
        """Check that *groups* lie on network dimensions of these *sizes*, in NPUs.

        Raises:
            InfeasibleError: One does not.
        """
        for group in groups:
            place_group(str(group.axis), group.stride, group.size, sizes)

    def fit(self, workload: Workload, platform: Platform, plan: ParallelPlan) -> "MemoryFit":
        """See ``memory_fit``."""
        from simcore.memory.fit import MemoryFit

        needed, runtime = self.footprint(workload, plan), self.runtime(workload, plan)
        return MemoryFit.of(needed, runtime, platform.npu.memory_bytes)

    def memory(
        self, workload: Workload, platform: Platform, plan: ParallelPlan, margin: float = 0.0
    ) -> "Footprint":
        """See ``check_memory``."""
        needed = self.memory_on(workload, platform.npu, plan, margin)
        for name in plan.offload.tiers:
            _check_tier(name, platform, needed)
        return needed

    def memory_on(
        self, workload: Workload, npu: Npu, plan: ParallelPlan, margin: float = 0.0
    ) -> "Footprint":
        """``memory`` on accelerators like *npu*."""
        needed, there = self.footprint(workload, plan), npu.memory_bytes
        if needed.total_bytes > there * (1.0 - margin):
            raise _too_large(needed, there, margin)
        if needed.host_bytes:
            _check_host(needed.host_bytes, npu)
        return needed

    def footprint(self, workload: Workload, plan: ParallelPlan) -> "Footprint":
        """See ``footprint``."""
        return self._memo.of(
            "footprint", key_of(workload, plan), lambda: _footprint(workload, plan, self._memo)
        )

    def runtime(self, workload: Workload, plan: ParallelPlan) -> "RuntimeMemory":
        """See ``runtime_memory``."""
        needed, key = self.footprint(workload, plan), key_of(workload, plan)
        return self._memo.of("runtime memory", key, lambda: _runtime(workload, plan, needed))


def _footprint(workload: Workload, plan: ParallelPlan, memo: Memo) -> "Footprint":
    from simcore.memory.latest import latest_footprint

    return latest_footprint(workload, plan, memo)


def _runtime(workload: Workload, plan: ParallelPlan, needed: "Footprint") -> "RuntimeMemory":
    from simcore.memory.runtime import runtime_memory

    return runtime_memory(workload, plan, needed)


def check_run(run: Run, *, memory: bool = True) -> None:
    """Check structure and memory of *run* before any simulation.

    Raises:
        ConfigError: A network backend or compute model that is none, a network that the backend
            cannot represent, or no peak for the precision.
        InfeasibleError: The first rule that is broken, with its name.
    """
    RunChecks().check(run, memory=memory)


def check_structure(workload: Workload, platform: Platform, plan: ParallelPlan) -> None:
    """Check that the plan divides the workload and that its groups lie on the machine.

    Raises:
        InfeasibleError: The first rule that is broken, with its name.
    """
    RunChecks().structure(workload, platform, plan)


def check_memory(
    workload: Workload, platform: Platform, plan: ParallelPlan, margin: float = 0.0
) -> "Footprint":
    """The footprint, once its tensors are known to fit.

    Args:
        workload: What runs.
        platform: The machine.
        plan: How the work is spread over it.
        margin: Part of the memory that is to be left for what runs beside them.

    Raises:
        InfeasibleError: They do not; names the largest component.
    """
    return RunChecks().memory(workload, platform, plan, margin)


def memory_fit(workload: Workload, platform: Platform, plan: ParallelPlan) -> "MemoryFit":
    """Verdict on the plan's memory: does it fit in that of the machine, and how sure is that?

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    return RunChecks().fit(workload, platform, plan)


def _check_models(run: Run) -> None:
    if run.backend not in BACKENDS:
        raise BACKENDS.unknown(run.backend, at="backend")
    try:
        check_network(BACKENDS[run.backend], engine_dimensions(run.platform.dimensions))
    except ConfigError as error:
        raise error.under("platform") from None
    backend = BACKENDS[run.backend]
    if run.system.mover and backend.messages_meet and backend.link_rule is None:
        rule = f"must be left out with {run.backend}, which follows each message of all NPUs"
        raise ConfigError("system.mover", rule, got=run.system.mover)
    check_schedules(run.system, run.platform.dimensions)
    check_switches(run.system, run.platform.dimensions, run.workload.precision)
    if run.compute not in COMPUTE_MODELS:
        raise COMPUTE_MODELS.unknown(run.compute, at="compute")


def _groups(workload: Workload, plan: ParallelPlan) -> tuple[GroupLayout, ...]:
    check_splits(workload, plan)
    groups = group_layouts(workload, plan).values()
    # the ends of the pipeline lie anywhere
    return tuple([group for group in groups if group.axis is not Axis.EMBEDDING])


def _check_host(needed_bytes: int, npu: Npu) -> None:
    host = npu.needed_host
    if needed_bytes > host.memory_bytes:
        reason = (
            f"{format_memory(needed_bytes)} needed in the memory of the host, "
            f"{format_memory(host.memory_bytes)} there per NPU"
        )
        raise InfeasibleError("fits_in_host_memory", reason)


def _check_tier(name: str, platform: Platform, needed: "Footprint") -> None:
    tier, npus = platform.tier(name), platform.npus
    sharers = tier.sharers(npus)
    held_bytes = needed.tier_bytes(name, sharers, npus)
    if held_bytes > tier.memory_bytes:
        reason = (
            f"{format_memory(held_bytes)} needed in tier {name} by the {sharers} NPUs at one port, "
            f"{format_memory(tier.memory_bytes)} there"
        )
        raise InfeasibleError("fits_in_tier", reason)


def _too_large(needed: "Footprint", capacity_bytes: float, margin: float) -> InfeasibleError:
    name, size = max(needed.components().items(), key=lambda part: part[1])
    kept = f", {margin:.1%} of it to be left" if margin else ""
    reason = (
        f"{format_memory(needed.total_bytes)} needed, "
        f"{format_memory(capacity_bytes)} there{kept}; the largest part is {name} with "
        f"{format_memory(size)}"
    )
    return InfeasibleError("fits_in_memory", reason)
