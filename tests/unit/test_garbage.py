"""Pauses of the search for unused objects: what they leave to the search after them."""

import gc
import weakref
from typing import Any

from simcore.garbage import no_collection


class _Kept:
    """Object that a circle can be made of."""

    other: "_Kept"


def _is_young(one: object) -> bool:
    """True if the next search for unused objects looks at *one*."""
    return any(other is one for other in gc.get_objects(generation=0))


def test_what_a_pause_made_is_passed_over_by_the_next_search() -> None:
    with no_collection():
        made: list[Any] = [[] for _ in range(10)]
        assert _is_young(made)
    assert not _is_young(made)
    assert gc.isenabled()


def test_circles_that_a_pause_made_are_found_later() -> None:
    with no_collection():
        one, other = _Kept(), _Kept()
        one.other, other.other = other, one
        gone = weakref.ref(one)
        del one, other
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_a_pause_leaves_alone_what_the_search_was_told_to_leave_alone() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with no_collection():
            made: list[Any] = [[] for _ in range(10)]
        assert gc.get_freeze_count() == frozen > 0
        assert _is_young(made)
    finally:
        gc.unfreeze()
