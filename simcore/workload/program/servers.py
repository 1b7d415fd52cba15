"""Traffic between workers and parameter servers, and the work of a server.

The servers are NPUs of the replicas' group, which train like all others. With d workers and S
servers the links of a server carry d parts of P / S gradients one way and as many weights the
other, one worker at a time with no sums on the way: see ``gradients.served_exchange``.
"""

from dataclasses import dataclass

from simcore.terms import NodeKind
from simcore.workload.graph import Kernel, PassPhase
from simcore.workload.program import ends
from simcore.workload.program.gradients import served, served_exchange
from simcore.workload.program.kernel_costs import elementwise
from simcore.workload.program.piece import Piece, SectionBuilder, SectionRun, piece_of
from simcore.workload.program.work import Means


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Server:
    """Writes what the server of a stage does.

    Attributes:
        parameters: Of the stage.
    """

    means: Means
    parameters: int

    def update(self) -> int:
        """The operator that adds up the gradients of all workers and updates the weights."""
        kernels = [self._sum(), *ends.optimizer(self._own, self.means.share)]
        return self.means.catalog.operator("server", PassPhase.OPTIMIZER, kernels)

    def pull(self) -> int:
        """The collective that brings the new weights to all workers."""
        share, plan = self.means.share, self.means.plan
        operation = served_exchange("weights", self.parameters, plan, share.weight_bytes)
        return self.means.catalog.collective(operation)

    def beside(self) -> Piece:
        """The exchange of an iteration beside the passes of the next; nothing there waits for it.

        Where two iterations may be under way, weights do not wait for the gradients sent with them.
        """
        plan, share = self.means.plan, self.means.share
        operation = served_exchange("gradients", self.parameters, plan, share.gradient_bytes)
        builder = SectionBuilder(())
        item = self.means.catalog.collective(operation)
        pushed = builder.add(NodeKind.COLLECTIVE, item, ())
        updated = builder.add(NodeKind.COMPUTE, self.update(), (pushed,))
        after = (updated,) if plan.updates.lag == 1 else ()
        builder.frontier = (builder.add(NodeKind.COLLECTIVE, self.pull(), after), updated)
        return piece_of([SectionRun(builder.section())])

    @property
    def _own(self) -> int:
        return served(self.parameters, self.means.plan)

    def _sum(self) -> Kernel:
        workers, own = self.means.plan.gradient_replicas, self._own
        moved = self.means.share.gradient_bytes * own * (workers + 1)
        return elementwise("sum over workers", (workers - 1) * own, moved)
