"""Bands hold four of five published rows whose source they were made without.

The tables of residuals come with the product, so that this needs no measured table and predicts
nothing: they are written by ``benchmarks/bands.py`` after predictions have changed.
"""

import numpy as np
import pytest

from simcore import shipped_folder
from simcore.validation.bands.classes import SERVING, TRAINING
from simcore.validation.bands.fit import fitted, left_out
from simcore.validation.bands.residuals import Chain, read_groups
from simcore.validation.bands.shipped import FOLDER, read_constants
from simcore.validation.bands.spread import Mask, Spreads

TABLES = shipped_folder("configs") / FOLDER
LEAST_ROWS = 20


def _spreads(chain: Chain) -> Spreads:
    return Spreads(chain, read_groups(TABLES / chain.file, chain))


def _inside(chain: Chain, spreads: Spreads) -> Mask:
    """True for rows inside bands from rows of other sources with other pairs."""
    judged = left_out(spreads, read_constants(TABLES).of(chain))
    assert judged.rows.size == spreads.values.size
    return judged.inside(read_constants(TABLES).of(chain))


def _mean_over_sources(spreads: Spreads, inside: Mask) -> float:
    weights = 1 / np.bincount(spreads.source)[spreads.source]
    return float(np.average(inside.astype(float), weights=weights))


def test_training_bands_hold_four_of_five_rows_of_sources_left_out() -> None:
    spreads = _spreads(TRAINING)
    assert len(spreads.sources) >= 20
    assert 0.75 <= _mean_over_sources(spreads, _inside(TRAINING, spreads)) <= 0.85


@pytest.mark.parametrize("level", ["kind", "number_format", "npu"])
def test_no_large_class_of_training_runs_is_far_from_four_of_five(level: str) -> None:
    spreads, at = _spreads(TRAINING), TRAINING.levels.index(level)
    inside = _inside(TRAINING, spreads)
    values = np.array([group.levels[at] for group in spreads.groups])[spreads.group]
    large = [value for value in set(values) if (values == value).sum() >= LEAST_ROWS]
    assert large
    shares = {value: float(inside[values == value].mean()) for value in large}
    assert {v: share for v, share in shares.items() if not 0.6 <= share <= 0.95} == {}


def test_serving_bands_hold_four_of_five_rows_of_other_pairs() -> None:
    spreads = _spreads(SERVING)
    inside = _inside(SERVING, spreads)
    assert 0.7 <= _mean_over_sources(spreads, inside) <= 0.85
    assert 0.75 <= inside.mean() <= 0.9


@pytest.mark.parametrize("chain", [TRAINING, SERVING], ids=lambda chain: chain.name)
def test_the_constants_are_those_of_the_tables(chain: Chain) -> None:
    """A table that was written without its constants would leave bands of another one."""
    kept = read_constants(TABLES).of(chain).model_copy(update={"source": ""})
    found = fitted(chain, read_groups(TABLES / chain.file, chain))
    assert found.model_dump(exclude={"low", "high"}) == kept.model_dump(exclude={"low", "high"})
    assert found.low == pytest.approx(kept.low, rel=0.05)  # the table is rounded
    assert found.high == pytest.approx(kept.high, rel=0.05)
