"""Residual blocks of a layer by the names in ``Model.layer_kinds``."""

from collections.abc import Hashable
from dataclasses import replace

from simcore.registry import Registry
from simcore.workload.blocks.attention import Attention
from simcore.workload.blocks.base import Block, BlockParameters, LayerRow, LayerWork
from simcore.workload.blocks.cross import CrossAttention, DecoderStart
from simcore.workload.blocks.experts import RoutedExperts
from simcore.workload.blocks.latent import Latent
from simcore.workload.blocks.mamba import Mamba
from simcore.workload.blocks.mlp import Mlp
from simcore.workload.blocks.vision import Classes, Patches
from simcore.workload.model import LayerKind
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.share import Share

BLOCKS: Registry[type[Block]] = Registry(
    "residual block",
    {
        "patches": Patches,
        "encoder_attention": Attention,
        "encoder_mlp": Mlp,
        "decoder_start": DecoderStart,
        "attention": Attention,
        "windowed": Attention,
        "latent": Latent,
        "mamba": Mamba,
        "cross": CrossAttention,
        "mlp": Mlp,
        "experts": RoutedExperts,
        "classes": Classes,
    },
)


def blocks_of(kind: LayerKind, share: NpuShare, plan: ParallelPlan) -> tuple[LayerWork, ...]:
    """What one NPU does for a layer, part by part."""
    return tuple([_work(part, share, plan) for part in kind])


def _work(part: Hashable, share: NpuShare, plan: ParallelPlan) -> LayerWork:
    if isinstance(part, str) and isinstance(share, Share):
        share = share.of_layer((part,))
        if part == "windowed":  # a window only hides more scores
            share = replace(share, visible=share.windowed_visible)
        return BLOCKS[part](share=share, plan=plan)
    if isinstance(part, LayerRow):
        return part.work(share, plan)
    raise AssertionError(f"{part!r} is no part of a layer that works on {type(share).__name__}")


__all__ = ["BLOCKS", "Block", "BlockParameters", "LayerRow", "LayerWork", "blocks_of"]
