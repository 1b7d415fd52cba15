"""Architectures whose nets are like no other: one file each, and one line here."""

from collections.abc import Callable

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.own import (
    dbrx,
    deepseek_v4,
    diffllama,
    doge,
    gpt_neox_japanese,
    jetmoe,
    led,
    mimo,
    mllama,
    modernbert_decoder,
    mpt,
    rwkv,
    switch,
    zamba,
)
from simcore.workload.hub.own.encoders import OWN_ENCODER_NETS, OWN_ENCODERS

OWN_FAMILIES: dict[str, Family] = {
    **OWN_ENCODERS,
    "dbrx": dbrx.FAMILY,
    "deepseek_v4": deepseek_v4.FAMILY,
    "diffllama": diffllama.FAMILY,
    "doge": doge.FAMILY,
    "jetmoe": jetmoe.FAMILY,
    "mllama_text_model": mllama.FAMILY,
    "mimo_v2_flash": mimo.FAMILY,
    "led": led.FAMILY,
    "gpt_neox_japanese": gpt_neox_japanese.FAMILY,
    "modernbert-decoder": modernbert_decoder.FAMILY,
    "mpt": mpt.FAMILY,
    "rwkv": rwkv.FAMILY,
    "switch_transformers": switch.FAMILY,
    "zamba": zamba.FAMILY,
}
"""Lines of these architectures by ``model_type``."""

OWN_NETS: dict[str, Callable[[Keys, Family, bool], ModelCounts]] = {
    **OWN_ENCODER_NETS,
    "dbrx": dbrx.dbrx,
    "deepseek_v4": deepseek_v4.deepseek_v4,
    "diffllama": diffllama.diffllama,
    "doge": doge.doge,
    "jetmoe": jetmoe.jetmoe,
    "mllama": mllama.mllama,
    "mimo_v2_flash": mimo.mimo_v2_flash,
    "led": led.led,
    "gpt_neox_japanese": gpt_neox_japanese.gpt_neox_japanese,
    "modernbert_decoder": modernbert_decoder.modernbert_decoder,
    "mpt": mpt.mpt,
    "rwkv": rwkv.rwkv,
    "switch": switch.switch_transformers,
    "zamba": zamba.zamba,
}
"""Counting functions of their nets."""
