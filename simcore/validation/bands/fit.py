"""Fits the constants of a chain to residuals of rows that were left out.

Each row is judged twice: by the rows of other sources with another pair of accelerator and model,
which is how a new site meets the table, and by all rows but those of its group, which is how a new
layout of a known one does; the former counts twice. Constants are those with the least mean
interval score: the width of the band, and ten times the distance of a row from it. The ends of the
band are quantiles of residuals over their spreads, a tenth beyond each. Rows weigh as many
independent ones do.

Source: T. Gneiting, A. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", J. Am.
Statist. Assoc. 102, 2007, section 6.2 (interval score); V. Vovk, A. Gammerman, G. Shafer,
"Algorithmic Learning in a Random World", 2005 (bands from ranks of left-out residuals).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from simcore.validation.bands.residuals import Chain, Group
from simcore.validation.bands.spread import (
    Constants,
    Floats,
    Ints,
    Mask,
    Spread,
    Spreads,
    independent,
)

WITHIN = 0.8
"""Part of measured times that a band is to hold."""
NEW_SITES = 2.0
"""Weight of rows whose source was left out, over that of rows whose group was."""
BEYOND = (1 - WITHIN) / 2
"""Part beyond each of its ends."""

PULLS = (4.0, 8.0, 16.0, 32.0)
GROWTHS = (0.01, 0.03, 0.1)
"""Values that are tried. Growth is never nothing: what is farther is known less."""
FEW = 0.75
"""ln of the factor for a kind or format without any source. Two kinds are too few to fit it: models
with routed experts spread by 0.17 where dense ones do by 0.08 (rows of measured.csv), ln 2.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Rows that were left out, with what the others say of them.

    Attributes:
        residuals: ln(measured / predicted).
        weights: Independent rows that each stands for, in parts of all.
        sources: Number of each row's source.
        sizes: Spread at its class.
        lack: As of the spread.
        doublings: To the nearest row of the class.
        rows: Number of each row in the table.
    """

    residuals: Floats
    weights: Floats
    sources: Ints
    sizes: Floats
    lack: Floats
    doublings: Floats
    rows: Ints

    def widths(self, constants: Constants) -> Floats:
        """Spreads of the rows, widened."""
        factor = np.exp(constants.few * self.lack) * (1 + constants.growth * self.doublings)
        return np.asarray(self.sizes * factor, np.float64)

    def scaled(self, constants: Constants) -> Floats:
        """Residuals in spreads."""
        return np.asarray(self.residuals / self.widths(constants), np.float64)

    def inside(self, constants: Constants) -> Mask:
        """True for rows inside their bands."""
        scaled = self.scaled(constants)
        return np.asarray((-constants.low <= scaled) & (scaled <= constants.high), np.bool_)

    def interval_score(self, constants: Constants) -> float:
        """Mean interval score of the bands of the rows."""
        widths = self.widths(constants)
        low, high = -constants.low * widths, constants.high * widths
        missed = np.maximum(low - self.residuals, 0) + np.maximum(self.residuals - high, 0)
        return float(np.average(high - low + missed / BEYOND, weights=self.weights))

    @classmethod
    def joined(cls, parts: Sequence["LeftOut"]) -> "LeftOut":
        """Rows of all parts, one after the other."""
        names = [field.name for field in fields(cls)]
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(**columns)


def left_out(
    spreads: Spreads,
    constants: Constants,
    *,
    among: Mask | None = None,
    of: Mask | None = None,
    groups_alone: bool = False,
) -> LeftOut:
    """Rows, each judged by others alone; those that no other can judge are missing.

    Args:
        spreads: The table.
        constants: Of its chain.
        among: Rows that may speak; by default all.
        of: Rows to judge; by default those that may speak.
        groups_alone: A row's own group is left out, not all that share source or pair.
    """
    known = np.ones(spreads.values.size, np.bool_) if among is None else among
    judged, found = known if of is None else of, []
    for at, kept in _others(spreads, known, judged, groups_alone):
        group = spreads.groups[at]
        spread = spreads.at(group.levels, constants, kept)
        found.append((at, spread, spreads.doublings(spread, group.place)))
    return _rows(spreads, found)


def _others(
    spreads: Spreads, known: Mask, judged: Mask, groups_alone: bool
) -> Iterator[tuple[int, Mask]]:
    """Each group of judged rows, and the known rows that may speak for it."""
    first = np.searchsorted(spreads.group, np.arange(len(spreads.groups)))
    for at, row in enumerate(first):
        if not judged[row]:
            continue
        if groups_alone:
            kept = known & (spreads.group != at)
        else:
            alike = (spreads.source == spreads.source[row]) | (spreads.pair == spreads.pair[row])
            kept = known & ~alike
        if kept.any():
            yield at, kept


def _rows(spreads: Spreads, found: Sequence[tuple[int, Spread, float]]) -> LeftOut:
    """The rows of groups, each with its spread and the doublings to what that is from."""
    number_of = {at: number for number, (at, _, _) in enumerate(found)}
    rows = np.flatnonzero(np.isin(spreads.group, list(number_of)))
    number = np.array([number_of[int(at)] for at in spreads.group[rows]], np.int64)
    sources = np.asarray(np.unique(spreads.source[rows], return_inverse=True)[1], np.int64)
    weights = independent(sources)
    return LeftOut(
        residuals=spreads.values[rows],
        weights=weights / weights.sum(),
        sources=sources,
        sizes=np.array([spread.size for _, spread, _ in found], np.float64)[number],
        lack=np.array([spread.lack for _, spread, _ in found], np.float64)[number],
        doublings=np.array([doublings for _, _, doublings in found], np.float64)[number],
        rows=rows,
    )


def fitted(chain: Chain, groups: Sequence[Group], among: Mask | None = None) -> Constants:
    """The constants of a chain with the least interval score.

    Raises:
        ValueError: There is one source alone, so that no row can be judged by others.
    """
    spreads, best, least = Spreads(chain, groups), None, np.inf
    for pull in PULLS:
        tried = Constants(pull=pull, few=FEW, growth=0, low=1, high=1)
        parts = [
            left_out(spreads, tried, among=among, groups_alone=alone) for alone in (False, True)
        ]
        if not all(part.residuals.size for part in parts):
            raise ValueError("a band needs rows of two sources at least")
        found = LeftOut.joined([replace(parts[0], weights=NEW_SITES * parts[0].weights), parts[1]])
        for growth in GROWTHS:
            constants = _with_ends(found, tried.model_copy(update={"growth": growth}))
            score = found.interval_score(constants)
            if score < least - 1e-9:
                best, least = constants, score
    assert best is not None
    return best


def _with_ends(found: LeftOut, constants: Constants) -> Constants:
    """*constants* with the ends of the band."""
    scaled = found.scaled(constants)
    low, high = (quantile(scaled, found.weights, part) for part in (BEYOND, 1 - BEYOND))
    ends = {"low": round(max(0.0, -low), 3), "high": round(max(0.0, high), 3)}
    return constants.model_copy(update=ends)


def quantile(values: Floats, weights: Floats, part: float) -> float:
    """The value that *part* of the weight lies at or below."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= part * weights.sum() - 1e-12
    return float(values[order][int(np.argmax(reached))])
