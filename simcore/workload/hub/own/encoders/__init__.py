"""Encoders whose nets are like no other: one line here for each architecture."""

from collections.abc import Callable

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.own.encoders import (
    convbert,
    deberta_v1,
    esm,
    eurobert,
    fnet,
    gte,
    layoutlm,
    mobilebert,
    nystromformer,
    rembert,
    roc_bert,
    squeezebert,
    tapas,
    xlm,
    xlnet,
)

OWN_ENCODERS: dict[str, Family] = {
    "convbert": convbert.FAMILY,
    "deberta": deberta_v1.FAMILY,
    "esm": esm.FAMILY,
    "eurobert": eurobert.FAMILY,
    "fnet": fnet.FAMILY,
    "gte": gte.FAMILY,
    "layoutlm": layoutlm.FAMILY,
    "mobilebert": mobilebert.FAMILY,
    "nystromformer": nystromformer.FAMILY,
    "rembert": rembert.FAMILY,
    "roc_bert": roc_bert.FAMILY,
    "squeezebert": squeezebert.FAMILY,
    "tapas": tapas.FAMILY,
    "xlm": xlm.FAMILY,
    "flaubert": xlm.FAMILY,
    "xlnet": xlnet.FAMILY,
}
"""Lines of these architectures by ``model_type``."""

OWN_ENCODER_NETS: dict[str, Callable[[Keys, Family, bool], ModelCounts]] = {
    "convbert": convbert.convbert,
    "deberta_v1": deberta_v1.deberta_v1,
    "esm": esm.esm,
    "eurobert": eurobert.eurobert,
    "fnet": fnet.fnet,
    "gte": gte.gte,
    "layoutlm": layoutlm.layoutlm,
    "mobilebert": mobilebert.mobilebert,
    "nystromformer": nystromformer.nystromformer,
    "rembert": rembert.rembert,
    "roc_bert": roc_bert.roc_bert,
    "squeezebert": squeezebert.squeezebert,
    "tapas": tapas.tapas,
    "xlm": xlm.xlm,
    "xlnet": xlnet.xlnet,
}
"""Counting functions of their nets."""
