"""Residual blocks of a layer by the names in ``Model.layer_kinds``."""

from typing import TYPE_CHECKING

from simcore.registry import Registry

if TYPE_CHECKING:  # a model has few of them, and a check needs none
    from simcore.workload.kinds.transformer.blocks.base import ResidualBlock

BLOCKS: "Registry[type[ResidualBlock]]" = Registry(
    "residual block",
    {
        "patches": "simcore.workload.kinds.transformer.blocks.vision:Patches",
        "encoder_attention": "simcore.workload.kinds.transformer.blocks.attention:Attention",
        "encoder_mlp": "simcore.workload.kinds.transformer.blocks.mlp:Mlp",
        "decoder_start": "simcore.workload.kinds.transformer.blocks.cross:DecoderStart",
        "attention": "simcore.workload.kinds.transformer.blocks.attention:Attention",
        "windowed": "simcore.workload.kinds.transformer.blocks.attention:Attention",
        "latent": "simcore.workload.kinds.transformer.blocks.latent:Latent",
        "indexed": "simcore.workload.kinds.transformer.blocks.indexed:Indexed",
        "linear": "simcore.workload.kinds.transformer.blocks.linear:Linear",
        "mamba": "simcore.workload.kinds.transformer.blocks.mamba:Mamba",
        "cross": "simcore.workload.kinds.transformer.blocks.cross:CrossAttention",
        "mlp": "simcore.workload.kinds.transformer.blocks.mlp:Mlp",
        "experts": "simcore.workload.kinds.transformer.blocks.experts:RoutedExperts",
        "classes": "simcore.workload.kinds.transformer.blocks.vision:ClassHead",
    },
)

__all__ = ["BLOCKS"]
