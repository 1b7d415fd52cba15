"""Parts that machines are built of, with prices, powers and sources."""

from dse.costs.parts.catalogue import Catalogue, shipped_parts
from dse.costs.parts.part import GBPS, Part

__all__ = ["GBPS", "Catalogue", "Part", "shipped_parts"]
