"""The `design` sampler: an evolutionary search over valid designs with a model that ranks children.
"""

from dse.samplers.design.search import DesignSearch, Settings

__all__ = ["DesignSearch", "Settings"]
