"""Synthesis of a collective for a network: candidates, the fastest of which is checked and kept."""

from dataclasses import dataclass

from simcore.errors import ConfigError
from simcore.synthesis.bounds import Bound, better, bound_of
from simcore.synthesis.candidates import MOST_CHUNKS, SHORT, Known, candidates
from simcore.synthesis.fabric import Fabric
from simcore.synthesis.kinds import KINDS
from simcore.synthesis.replay import check
from simcore.synthesis.schedule import Schedule

_ENOUGH = ((SHORT, 1.0 - 1e-9), (1_000_000, 0.995), (1 << 62, 0.97))
"""Sends of a schedule, and share of the bound from which no more is tried with up to so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """A schedule that was checked, and what it is held against.

    Attributes:
        schedule: The schedule.
        bound: Least time.
        by: The candidate that it comes from.
    """

    schedule: Schedule
    bound: Bound
    by: str

    @property
    def share(self) -> float:
        """The bound as a part of the schedule's time: 1 is the best there can be."""
        return self.bound.time / self.schedule.time if self.schedule.time else 1.0


def synthesise(
    fabric: Fabric, kind: str, piece: float = 1.0, chunks: int | None = None, seed: int = 0
) -> Synthesis:
    """A schedule of a collective for a network, replayed and with its bound.

    Args:
        fabric: The network.
        kind: A name of ``KINDS``.
        piece: Size of a piece.
        chunks: Chunks of a piece; as many as pay, unless given.
        seed: Seed of what is drawn.

    Raises:
        ConfigError: No such collective, size or number of chunks.
        SimulationError: Some NPU cannot be reached from another.
    """
    if kind not in KINDS:
        raise ConfigError("collective", f"must be one of {', '.join(KINDS)}", got=kind)
    if not 0 < piece < 1e300:
        raise ConfigError("size", "must be above 0", got=piece)
    if chunks is not None and not 1 <= chunks <= MOST_CHUNKS:
        raise ConfigError("chunks", f"must be 1 to {MOST_CHUNKS}", got=chunks)
    bound = bound_of(fabric, kind, piece)
    aim = bound.bandwidth / piece
    best, by = None, ""
    known = Known()
    for draft in candidates(fabric, kind, piece, (chunks, seed), aim, known):
        # what a link is kept for, or a chain takes, no order of chunks shortens
        if draft.least >= known.time * (1 - 1e-12):
            continue
        found = draft.schedule()
        if found.time < known.time * (1 - 1e-12):
            best, by, known.time = found, draft.name, found.time
        enough = next(share for most, share in _ENOUGH if found.sends <= most)
        if bound.time >= enough * known.time:
            break
    assert best is not None
    check(best, fabric)
    return Synthesis(schedule=best, bound=better(bound, kind, fabric, known.prices, piece), by=by)
