"""An NPU's share of a transformer, with the residual blocks that its layers are made of."""

from collections.abc import Hashable
from dataclasses import dataclass

from simcore.workload.kinds.transformer.blocks import BLOCKS
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.plan import ParallelPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShare(Share):
    """One NPU's part of a transformer's work, which knows the residual blocks of its layers."""

    def named_work(self, part: Hashable, plan: ParallelPlan) -> ResidualBlock:
        """The residual block *part*, a name of ``BLOCKS``, as this NPU holds it."""
        name = str(part)
        share = self.of_layer((name,))
        if name == "windowed":  # a window only hides more scores
            share = share.limited
        return BLOCKS[name](share=share, plan=plan)
