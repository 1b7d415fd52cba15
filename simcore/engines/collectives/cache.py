"""What is known of collectives already: kept as long as its owner keeps it, up to a bound."""

from collections.abc import Hashable

from simcore.collectives.record import Rows
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.time import CollectiveTime
from simcore.recent import Recent
from simcore.terms import CollectiveKind

Placements = Recent[tuple[int, int, tuple[int, ...]], Placement]
"""By stride, size and the sizes of the dimensions: where a group lies."""

Collective = tuple[CollectiveKind, Placement, int]
"""Kind, where its members are, and size: of the full buffer, of an all-gather the shard."""


class CollectiveCache:
    """Shared by the machines of a search: what depends on nothing but its key.

    Attributes:
        rows: The program of a phase.
        phase_rows: The same of a phase on a dimension.
        stand_ins: Which algorithms stand in for others, as sentences.
        placements: Where groups lie.
        times: By machine and system layer, the times of collectives.
    """

    def __init__(self, limit: int = 4096) -> None:
        self.rows: Rows = Recent(limit)
        self.phase_rows: Recent[Hashable, list[int]] = Recent(limit)
        self.stand_ins: Recent[Hashable, tuple[str, ...]] = Recent(limit)
        self.placements: Placements = Recent(limit)
        self.times: Recent[Hashable, dict[Collective, CollectiveTime]] = Recent(limit)
