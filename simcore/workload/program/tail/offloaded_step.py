"""The optimizer step where its state, gradients or weights lie in tiers of memory.

Source: J. Ren et al., "ZeRO-Offload", USENIX ATC 2021, section 4 (a processor beside the memory
updates, and copies new weights while it goes on); S. Rajbhandari et al., "ZeRO-Infinity", SC 2021,
section 5.2 (state streams through the accelerator group by group).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from simcore.terms import NodeKind
from simcore.workload.graph import PassPhase, TransferOp, Way
from simcore.workload.npu_share import NpuShare
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.piece import SectionBuilder
from simcore.workload.program.work import Catalog

MAIN_BYTES = 4
"""Size of a main copy: the fp32 weight that is updated, where weights are stored in less."""


def state_bytes_per_parameter(share: NpuShare) -> int:
    """Bytes of main copy and moments of one parameter."""
    main = 0 if share.weight_bytes == MAIN_BYTES else MAIN_BYTES
    return main + share.moments * share.moment_bytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OffloadedStep:
    """Writes the update of what one NPU owns.

    With a first group g of n parameters, all but the first load and the last store run beside the
    step: load of g; then the rest, the step, and the stores of all but g; then the store of g.
    """

    share: NpuShare
    plan: ParallelPlan
    catalog: Catalog

    def write(self, builder: SectionBuilder, step: int, parameters: int) -> None:
        """Append the update of *parameters*, the operator *step*, to what *builder* waits for."""
        if self.plan.offload.in_tier:
            self._update_there(builder, parameters)
            return
        first, rest = self.plan.offload.first_group(parameters)
        loads, stores = self._per_parameter()
        loaded = self._moves(builder, loads, first, Way.LOAD, builder.frontier)
        after = builder.frontier + loaded if loaded else builder.frontier
        beside = self._moves(builder, loads, rest, Way.LOAD, after)
        stored = self._moves(builder, stores, rest, Way.STORE, after)
        builder.frontier = after
        updated = builder.then(NodeKind.COMPUTE, step)
        done = (updated, *beside, *stored)
        last = self._moves(builder, stores, first, Way.STORE, done)
        builder.frontier = (updated, *last) if last else done

    def _per_parameter(self) -> tuple[dict[str, float], dict[str, float]]:
        """Bytes per parameter that are loaded from each tier for the step, and stored after it."""
        offload, share = self.plan.offload, self.share
        state = state_bytes_per_parameter(share)
        loads = [(offload.optimizer, state), (offload.gradients, share.gradient_bytes)]
        stores = [(offload.optimizer, state), (offload.weights, share.weight_bytes)]
        return _by_tier(loads), _by_tier(stores)

    def _update_there(self, builder: SectionBuilder, parameters: int) -> None:
        """The update beside the memory, and the load of new weights that belong into the NPU."""
        offload, share = self.plan.offload, self.share
        touched = 2 * state_bytes_per_parameter(share) + share.gradient_bytes + share.weight_bytes
        first, rest = offload.first_group(parameters)
        tier = {offload.optimizer: touched}
        weights = _by_tier([(offload.optimizer, share.weight_bytes)])
        if offload.weights != OWN:
            weights = {}
        before = self._moves(builder, tier, first, Way.UPDATE, builder.frontier)
        updated = self._moves(builder, tier, rest, Way.UPDATE, before)
        loaded = self._moves(builder, weights, rest, Way.LOAD, before)
        done = (*before, *updated, *loaded)
        last = self._moves(builder, weights, first, Way.LOAD, done)
        builder.frontier = last or done

    def _moves(
        self,
        builder: SectionBuilder,
        per_parameter: dict[str, float],
        parameters: int,
        way: Way,
        after: Sequence[int],
    ) -> tuple[int, ...]:
        """A transfer per tier of what belongs to *parameters*; none where these are 0."""
        if parameters == 0:
            return ()
        kind = NodeKind.MEM_LOAD if way is Way.LOAD else NodeKind.MEM_STORE
        items = [
            TransferOp(
                name="optimizer state",
                tier=tier,
                way=way,
                size_bytes=ceil(size * parameters),
                phase=PassPhase.OPTIMIZER,
                merged=self.plan.offload.merges,
            )
            for tier, size in per_parameter.items()
        ]
        return tuple([builder.add(kind, self.catalog.transfer(one), after) for one in items])


def _by_tier(parts: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Sum of the bytes of each tier, but for what lies in the NPU."""
    found: dict[str, float] = {}
    for tier, size in parts:
        if tier != OWN and size:
            found[tier] = found.get(tier, 0) + size
    return found
