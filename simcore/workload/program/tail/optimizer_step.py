"""The optimizer step, the norm before it and what is gathered after it.

Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
Models", SC 2020, section 5 (stages 1 to 3).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from simcore.terms import CollectiveKind, NodeKind
from simcore.workload.graph import Axis, CollectiveOp, PassPhase
from simcore.workload.program import ends
from simcore.workload.program.gradients import sharing
from simcore.workload.program.kernel_costs import elementwise
from simcore.workload.program.piece import SectionBuilder
from simcore.workload.program.servers import Server
from simcore.workload.program.stage_parameters import StageParameters
from simcore.workload.program.tail.offloaded_step import OffloadedStep
from simcore.workload.program.work import Means

NUMBER_BYTES = 4
"""Bytes of a number that all agree on: the gradient norm, a loss, a flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owned:
    """Weights of one kind that an NPU updates, and the NPUs that share the work."""

    axis: Axis
    sharers: int
    parameters: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OptimizerStep:
    """Writes the step after all gradients are summed."""

    means: Means
    parameters: StageParameters

    def write(self, builder: SectionBuilder) -> None:
        """Append the step to what *builder* waits for."""
        owned = list(self._owned())
        total = sum(part.parameters for part in owned)
        catalog, share = self.means.catalog, self.means.share
        axes = list(self._norm_axes(owned[0]))
        if self.means.plan.scale_loss:
            unscaling = ends.unscaling(total, share)
            item = catalog.operator("gradient unscaling", PassPhase.OPTIMIZER, unscaling)
            builder.then(NodeKind.COMPUTE, item)
            self._agree(builder, "overflow flag", axes)
        norm = ends.gradient_norm(total, share)
        builder.then(NodeKind.COMPUTE, catalog.operator("gradient norm", PassPhase.OPTIMIZER, norm))
        self._agree(builder, "gradient norm", axes)
        if self.means.plan.updates.serves:
            self._serve(builder)
            return
        step = catalog.operator("optimizer", PassPhase.OPTIMIZER, ends.optimizer(total, share))
        OffloadedStep(share=share, plan=self.means.plan, catalog=catalog).write(
            builder, step, total
        )
        if self.means.plan.zero_stage < 3 and not self.means.plan.overlap_weights:
            for part in owned:
                if part.sharers > 1 and part.parameters:
                    builder.then(NodeKind.COLLECTIVE, self._gathering(part))
        if self.means.plan.updates.is_local:
            self._average(builder)
        if self.means.plan.updates.gossips:
            self._meet(builder)

    def _agree(self, builder: SectionBuilder, what: str, axes: Sequence[Axis]) -> None:
        """One number of *what*, which all NPUs come to have."""
        for axis in axes:
            number = CollectiveOp(
                name=f"{what} over {axis}",
                kind=CollectiveKind.ALL_REDUCE,
                axis=axis,
                size_bytes=NUMBER_BYTES,
                phase=PassPhase.GRADIENTS,
            )
            builder.then(NodeKind.COLLECTIVE, self.means.catalog.collective(number))

    def _serve(self, builder: SectionBuilder) -> None:
        """New weights from the servers, unless they travel beside the next passes."""
        plan = self.means.plan
        server = Server(means=self.means, parameters=self.parameters.total)
        if plan.updates.runs_beside and plan.gradient_replicas > 1:
            return
        builder.then(NodeKind.COMPUTE, server.update())
        if plan.gradient_replicas > 1:
            builder.then(NodeKind.COLLECTIVE, server.pull())

    def _average(self, builder: SectionBuilder) -> None:
        """The sum of what every replica changed, and the step that it is the gradient of."""
        plan, share, total = self.means.plan, self.means.share, self.parameters.total
        if plan.updates.every == 0 or plan.gradient_replicas == 1:
            return
        change = CollectiveOp(
            name="changes of weights",
            kind=CollectiveKind.ALL_REDUCE,
            axis=Axis.DP,
            size_bytes=share.gradient_bytes * total,
            phase=PassPhase.OPTIMIZER,
        )
        builder.then(NodeKind.COLLECTIVE, self.means.catalog.collective(change))
        step = ends.optimizer(total, replace(share, moments=1, moment_bytes=4))  # Nesterov momentum
        item = self.means.catalog.operator("outer optimizer", PassPhase.OPTIMIZER, step)
        builder.then(NodeKind.COMPUTE, item)

    def _meet(self, builder: SectionBuilder) -> None:
        """The weights of the partner, and the mean of both."""
        share, total, catalog = self.means.share, self.parameters.total, self.means.catalog
        if self.means.plan.gradient_replicas == 1:
            return
        partner = CollectiveOp(
            name="weights of the partner",
            kind=CollectiveKind.ALL_GATHER,
            axis=Axis.PARTNER,
            size_bytes=share.gradient_bytes * total,
            phase=PassPhase.OPTIMIZER,
        )
        builder.then(NodeKind.COLLECTIVE, catalog.collective(partner))
        mean = elementwise("mean of weights", 2 * total, 3 * share.gradient_bytes * total)
        builder.then(NodeKind.COMPUTE, catalog.operator("partners", PassPhase.OPTIMIZER, [mean]))

    def _owned(self) -> Iterator[_Owned]:
        """Dense weights, and expert weights, that the NPU updates."""
        plan = self.means.plan
        counts = {Axis.DP: self.parameters.outside, Axis.EDP: self.parameters.experts}
        for axis, count in counts.items():
            shared, sharers = sharing(axis, plan) if plan.zero_stage else (axis, 1)
            yield _Owned(axis=shared, sharers=sharers, parameters=-(-count // sharers))

    def _norm_axes(self, dense: _Owned) -> Iterator[Axis]:
        """Axes along which gradients differ; dense weights that are shared over dp comprise ep."""
        plan = self.means.plan
        if plan.tp > 1:
            yield Axis.TP
        if dense.sharers > 1:
            yield dense.axis
        elif self.parameters.experts and plan.ep > 1:
            yield Axis.EP
        if plan.pp > 1:
            yield Axis.PP

    def _gathering(self, part: _Owned) -> int:
        operation = CollectiveOp(
            name="expert weights" if part.axis is Axis.EDP else "weights",
            kind=CollectiveKind.ALL_GATHER,
            axis=part.axis,
            size_bytes=ceil(self.means.share.weight_bytes * part.parameters),
            phase=PassPhase.OPTIMIZER,
        )
        return self.means.catalog.collective(operation)
