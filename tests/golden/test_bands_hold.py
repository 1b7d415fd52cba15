"""Bands hold four of five published rows: those given, and those whose source they do not know.

The tables of residuals come with the product, so that this needs no measured table and predicts
nothing: they are written by ``benchmarks/bands.py`` after predictions have changed.
"""

from functools import cache

import numpy as np
import pytest

from simcore import shipped_folder
from simcore.validation.bands.classes import SERVING, TRAINING
from simcore.validation.bands.fit import fitted, inside_of, left_out
from simcore.validation.bands.residuals import Chain, read_groups
from simcore.validation.bands.shipped import FOLDER, read_constants
from simcore.validation.bands.spread import Mask, Spreads

TABLES = shipped_folder("configs") / FOLDER
LEAST_ROWS = 20
CHAINS = pytest.mark.parametrize("chain", [TRAINING, SERVING], ids=lambda chain: chain.name)


@cache
def _spreads(chain: Chain) -> Spreads:
    return Spreads(chain, read_groups(TABLES / chain.file, chain))


@CHAINS
def test_no_class_of_many_rows_is_far_from_four_of_five(chain: Chain) -> None:
    """One of 31 and none of 90 are; by chance, 0.5 and 3.5 would be."""
    spreads = _spreads(chain)
    every = np.ones(spreads.values.size, np.bool_)
    inside = inside_of(spreads, read_constants(TABLES).of(chain), every, every)
    assert 0.75 <= inside.mean() <= 0.85
    names = [[group.source for group in spreads.groups]]
    names += [[" ".join(group.levels) for group in spreads.groups]]
    names += [[group.levels[at] for group in spreads.groups] for at in range(len(chain.levels))]
    shares = {}
    for values in names:
        for value in set(values):
            rows = np.array([one == value for one in values])[spreads.group]
            if rows.sum() >= LEAST_ROWS:
                shares[value] = float(inside[rows].mean())
    assert len(shares) > 20
    assert len([share for share in shares.values() if not 0.65 <= share <= 0.92]) <= 2


@cache
def _inside_left_out(chain: Chain) -> Mask:
    """True for rows in bands from rows of other sources with other pairs, constants included."""
    spreads = _spreads(chain)
    inside = np.zeros(spreads.values.size, np.bool_)
    for at, source in enumerate(spreads.sources):
        constants, kept = left_out(spreads, source)
        inside |= inside_of(spreads, constants, kept, spreads.source == at)
    return inside


@CHAINS
def test_bands_hold_four_of_five_rows_of_sources_left_out(chain: Chain) -> None:
    spreads, inside = _spreads(chain), _inside_left_out(chain)
    assert len(spreads.sources) >= 20
    weights = 1 / np.bincount(spreads.source)[spreads.source]
    assert 0.75 <= np.average(inside, weights=weights) <= 0.85
    assert 0.75 <= inside.mean() <= 0.85


@pytest.mark.parametrize("level", ["kind", "number_format", "npu"])
def test_no_large_class_of_training_runs_left_out_is_far_from_four_of_five(level: str) -> None:
    spreads, at = _spreads(TRAINING), TRAINING.levels.index(level)
    inside = _inside_left_out(TRAINING)
    values = np.array([group.levels[at] for group in spreads.groups])[spreads.group]
    large = [value for value in set(values) if (values == value).sum() >= LEAST_ROWS]
    assert large
    shares = {value: float(inside[values == value].mean()) for value in large}
    assert {v: share for v, share in shares.items() if not 0.6 <= share <= 0.95} == {}


@CHAINS
def test_the_constants_are_those_of_the_tables(chain: Chain) -> None:
    """A table that was written without its constants would leave bands of another one."""
    kept = read_constants(TABLES).of(chain)
    found = fitted(chain, _spreads(chain).groups)
    assert found.known == pytest.approx(kept.known, abs=0.03)  # the table is rounded
    assert found.base == pytest.approx(kept.base, abs=0.02)
    for level, effects in found.effects.items():
        assert effects == pytest.approx(kept.effects[level], abs=0.02)
