"""Architectures whose nets are like no other: one file each, and one line here."""

from collections.abc import Callable

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.own import (
    convbert,
    dbrx,
    deepseek_v4,
    diffllama,
    doge,
    eurobert,
    jetmoe,
    mobilebert,
    modernbert_decoder,
    mpt,
    rembert,
    rwkv,
    switch,
    zamba,
)

OWN_FAMILIES: dict[str, Family] = {
    "convbert": convbert.FAMILY,
    "dbrx": dbrx.FAMILY,
    "deepseek_v4": deepseek_v4.FAMILY,
    "diffllama": diffllama.FAMILY,
    "doge": doge.FAMILY,
    "eurobert": eurobert.FAMILY,
    "jetmoe": jetmoe.FAMILY,
    "mobilebert": mobilebert.FAMILY,
    "modernbert-decoder": modernbert_decoder.FAMILY,
    "mpt": mpt.FAMILY,
    "rembert": rembert.FAMILY,
    "rwkv": rwkv.FAMILY,
    "switch_transformers": switch.FAMILY,
    "zamba": zamba.FAMILY,
}
"""Lines of these architectures by ``model_type``."""

OWN_NETS: dict[str, Callable[[Keys, Family, bool], ModelCounts]] = {
    "convbert": convbert.convbert,
    "dbrx": dbrx.dbrx,
    "deepseek_v4": deepseek_v4.deepseek_v4,
    "diffllama": diffllama.diffllama,
    "doge": doge.doge,
    "eurobert": eurobert.eurobert,
    "jetmoe": jetmoe.jetmoe,
    "mobilebert": mobilebert.mobilebert,
    "modernbert_decoder": modernbert_decoder.modernbert_decoder,
    "mpt": mpt.mpt,
    "rembert": rembert.rembert,
    "rwkv": rwkv.rwkv,
    "switch": switch.switch_transformers,
    "zamba": zamba.zamba,
}
"""Counting functions of their nets."""
