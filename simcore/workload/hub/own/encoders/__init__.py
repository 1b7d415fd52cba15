"""Encoders whose nets are like no other: one line here for each architecture."""

from collections.abc import Callable

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.own.encoders import convbert, eurobert, mobilebert, rembert

OWN_ENCODERS: dict[str, Family] = {
    "convbert": convbert.FAMILY,
    "eurobert": eurobert.FAMILY,
    "mobilebert": mobilebert.FAMILY,
    "rembert": rembert.FAMILY,
}
"""Lines of these architectures by ``model_type``."""

OWN_ENCODER_NETS: dict[str, Callable[[Keys, Family, bool], ModelCounts]] = {
    "convbert": convbert.convbert,
    "eurobert": eurobert.eurobert,
    "mobilebert": mobilebert.mobilebert,
    "rembert": rembert.rembert,
}
"""Counting functions of their nets."""
