"""Residual blocks of a layer by the names in ``Model.layer_kinds``."""

from simcore.registry import Registry
from simcore.workload.kinds.transformer.blocks.attention import Attention
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.blocks.cross import CrossAttention, DecoderStart
from simcore.workload.kinds.transformer.blocks.experts import RoutedExperts
from simcore.workload.kinds.transformer.blocks.indexed import Indexed
from simcore.workload.kinds.transformer.blocks.latent import Latent
from simcore.workload.kinds.transformer.blocks.linear import Linear
from simcore.workload.kinds.transformer.blocks.mamba import Mamba
from simcore.workload.kinds.transformer.blocks.mlp import Mlp
from simcore.workload.kinds.transformer.blocks.vision import ClassHead, Patches

BLOCKS: Registry[type[ResidualBlock]] = Registry(
    "residual block",
    {
        "patches": Patches,
        "encoder_attention": Attention,
        "encoder_mlp": Mlp,
        "decoder_start": DecoderStart,
        "attention": Attention,
        "windowed": Attention,
        "latent": Latent,
        "indexed": Indexed,
        "linear": Linear,
        "mamba": Mamba,
        "cross": CrossAttention,
        "mlp": Mlp,
        "experts": RoutedExperts,
        "classes": ClassHead,
    },
)


__all__ = ["BLOCKS", "ResidualBlock"]
