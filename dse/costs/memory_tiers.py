"""Prices of memory outside the accelerators: so much per GB, and so much per port."""

from dse.costs.base import GB
from simcore import BillLine, Catalogue, ConfigError, Platform, bill_line

MEMORY_TIERS = "memory_tiers"
"""Group of its lines on a bill."""


def tier_lines(platform: Platform, parts: Catalogue) -> list[BillLine]:
    """Lines of all tiers of *platform*; a tier without parts is in the price of something else.

    Raises:
        ConfigError: A part is not on the list, or of another kind.
    """
    lines = []
    for name, tier in platform.tiers.items():
        holders = tier.holders(platform.npus)
        wanted = {
            "part": ("memory", tier.part, holders * tier.memory_bytes / GB),
            "port_part": ("memory_port", tier.port_part, holders * tier.ports),
        }
        for key, (kind, part, count) in wanted.items():
            if not part:
                continue
            known = [one for one, _ in parts.of_kind(kind)]
            if part not in known:
                rule = f"must be one of the parts of kind {kind}: {', '.join(known)}"
                raise ConfigError(f"platform.tiers.{name}.{key}", rule, got=part)
            lines.append(bill_line(MEMORY_TIERS, part, parts[part], count))
    return lines
