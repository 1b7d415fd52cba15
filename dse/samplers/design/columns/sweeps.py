"""All designs one decision away from others."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dse.samplers.design.columns.genomes import Codes, Genomes, Ints
from dse.samplers.design.columns.neighbourhood import Draft, Neighbourhood
from dse.samplers.design.columns.tables import NO_CODE


def retuned(near: Neighbourhood, genomes: Genomes) -> Genomes:
    """Valid designs one step on a ladder or one word from *genomes*."""
    return _changed(near, genomes, _other_codes(near, genomes.codes))


def around(near: Neighbourhood, genomes: Genomes) -> Genomes:
    """Valid designs one step on a ladder, one word or one split of two factors from *genomes*."""
    changes = _other_codes(near, genomes.codes) + _other_splits(near, genomes.codes)
    return _changed(near, genomes, changes)


def grafted(near: Neighbourhood, genomes: Genomes, others: Genomes) -> Genomes:
    """Valid designs with one block of one of *others*, and all else of one of *genomes*."""
    one, two = (pair.ravel() for pair in np.indices((len(genomes), len(others))))
    host, donor = genomes.at(one), others.at(two)
    parts = []
    for number, span in enumerate(near.space.spans):
        own = slice(span.first, span.end)
        differ = (host.codes[:, own] != donor.codes[:, own]).any(axis=1)
        held = near.space.block_rows(number, host.dimensions, donor.codes) >= 0
        at = np.flatnonzero(differ & held)
        codes = host.codes[at]
        codes[:, own] = donor.codes[at, own]
        parts.append(Genomes(host.dimensions[at], codes, host.reals[at]))
    return Genomes.joined(parts).distinct() if parts else genomes.at(slice(0))


Change = tuple[Ints, Sequence[int], Codes]
"""Numbers of genomes, the knobs that are changed in them, and their new codes, (N, knobs)."""


def _other_codes(near: Neighbourhood, codes: Codes) -> list[Change]:
    """A step up or down on each ladder, and each other word."""
    changes: list[Change] = []
    for at in near.ladders:
        for step in (-1, 1):
            code = codes[:, at] + np.int16(step)
            rows = np.flatnonzero((codes[:, at] >= 0) & (code >= 0) & (code <= near.tops[at]))
            changes.append((rows, (at,), code[rows, None]))
    for at in near.words:
        for word in range(int(near.tops[at]) + 1):
            rows = np.flatnonzero((codes[:, at] >= 0) & (codes[:, at] != word))
            changes.append((rows, (at,), np.full((rows.size, 1), word, np.int16)))
    return changes


def _other_splits(near: Neighbourhood, codes: Codes) -> list[Change]:
    """Each way in which two knobs of a product can share what they make together."""
    changes: list[Change] = []
    for product in near.products:
        for pair in combinations(product, 2):
            own = codes[:, pair]
            together = near.numbers(pair, own).prod(axis=1)
            for own_code, value in enumerate(near.space.knobs[pair[0]].choices):
                numbers = np.stack([np.full(len(own), int(value)), together // int(value)], axis=1)
                found = near.codes_of(pair, numbers).astype(np.int16)
                able = (own >= 0).all(axis=1) & (own[:, 0] != own_code) & (found[:, 1] != NO_CODE)
                rows = np.flatnonzero(able & (together % int(value) == 0))
                changes.append((rows, pair, found[rows]))
    return changes


def _changed(near: Neighbourhood, genomes: Genomes, changes: Sequence[Change]) -> Genomes:
    """*genomes* with each of the changes that the space holds."""
    if not changes:
        return genomes.at(slice(0))
    draft = Draft(genomes.at(np.concatenate([rows for rows, _, _ in changes])))
    begin = 0
    for rows, knobs, codes in changes:
        own = np.arange(begin, begin + rows.size)[:, None]
        draft.set(own, np.array(knobs)[None], codes)
        begin += rows.size
    found, moved = near.finished(draft)
    return found.at(moved).distinct()
