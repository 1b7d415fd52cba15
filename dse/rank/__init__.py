"""The best designs: Pareto fronts and the volume that they dominate."""

from dse.rank.hypervolume import hypervolume
from dse.rank.pareto import non_dominated
from dse.rank.quality import MARGIN, Quality, reference_point, study_quality

__all__ = ["MARGIN", "Quality", "hypervolume", "non_dominated", "reference_point", "study_quality"]
