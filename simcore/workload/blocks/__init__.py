"""Residual blocks of a layer by the names in ``Model.layer_kinds``."""

from dataclasses import replace

from simcore.registry import Registry
from simcore.workload.blocks.attention import Attention
from simcore.workload.blocks.base import Block, BlockParameters
from simcore.workload.blocks.experts import RoutedExperts
from simcore.workload.blocks.latent import Latent
from simcore.workload.blocks.mamba import Mamba
from simcore.workload.blocks.mlp import Mlp
from simcore.workload.model import LayerKind
from simcore.workload.plan import ParallelPlan
from simcore.workload.share import Share

BLOCKS: Registry[type[Block]] = Registry(
    "residual block",
    {
        "attention": Attention,
        "windowed": Attention,
        "latent": Latent,
        "mamba": Mamba,
        "mlp": Mlp,
        "experts": RoutedExperts,
    },
)


def blocks_of(kind: LayerKind, share: Share, plan: ParallelPlan) -> tuple[Block, ...]:
    """The blocks of a layer as one NPU holds them; a window only hides more scores."""
    windowed = share
    if "windowed" in kind:
        windowed = replace(share, visible=share.windowed_visible)
    return tuple(
        [BLOCKS[name](share=windowed if name == "windowed" else share, plan=plan) for name in kind]
    )


__all__ = ["BLOCKS", "Block", "BlockParameters", "blocks_of"]
