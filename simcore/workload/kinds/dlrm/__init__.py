"""Recommendation models: embedding tables spread over all NPUs, dense layers whole on each."""

from simcore.workload.kinds.dlrm.net import RecommendationNet, Table
from simcore.workload.kinds.dlrm.placement import Tables
from simcore.workload.kinds.dlrm.workload import DlrmWorkload

__all__ = ["DlrmWorkload", "RecommendationNet", "Table", "Tables"]
