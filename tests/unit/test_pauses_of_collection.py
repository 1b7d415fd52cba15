"""Pauses of garbage collection: what is made meanwhile is not walked over after them."""

import gc
from collections.abc import Iterator

import pytest

from simcore.garbage import no_collection

OLDEST = 2


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    if not was_enabled:
        gc.disable()


def is_oldest(made: list[object]) -> bool:
    return any(one is made for one in gc.get_objects(generation=OLDEST))


def test_what_is_made_in_a_pause_counts_as_long_lived_after_it() -> None:
    with no_collection():
        assert not gc.isenabled()
        made: list[object] = [object()]
        assert not is_oldest(made)
    assert gc.isenabled()
    assert is_oldest(made)


def test_a_pause_within_a_pause_ends_with_the_outer_one() -> None:
    with no_collection():
        with no_collection():
            made: list[object] = [object()]
        assert not gc.isenabled()
        assert not is_oldest(made)


def test_what_is_kept_out_of_the_search_stays_out() -> None:
    gc.freeze()
    try:
        kept = gc.get_freeze_count()
        with no_collection():
            pass
        assert gc.get_freeze_count() == kept
    finally:
        gc.unfreeze()
