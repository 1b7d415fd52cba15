"""Pauses of Python's search for unused objects."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from simcore import garbage, no_collection

MANY = garbage._MANY_OBJECTS + 1000


class Ring:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def walks() -> Iterator[list[int]]:
    """Generations that are walked over."""
    found: list[int] = []

    def note(phase: str, about: dict[str, Any]) -> None:
        if phase == "start":
            found.append(about["generation"])

    gc.collect()
    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_many_objects_of_a_pause_are_not_walked_over_after_it(walks: list[int]) -> None:
    with no_collection():
        kept: list[list[int]] = [[] for _ in range(MANY)]
    young = gc.get_count()[0]
    assert not walks
    assert len(kept) == MANY > 10 * young


def test_few_objects_of_a_pause_are_walked_over_after_it(walks: list[int]) -> None:
    with no_collection():
        kept: list[list[int]] = [[] for _ in range(garbage._MANY_OBJECTS // 20)]
        assert not walks
    kept.append([])
    assert walks, "as after any objects"


def test_circles_of_a_pause_are_found_by_the_next_whole_search() -> None:
    with no_collection():
        kept: list[list[int]] = [[] for _ in range(MANY)]
        found = weakref.ref(Ring())
    gc.collect()
    assert found() is None
    assert kept


def test_objects_kept_out_of_the_search_stay_out_of_it() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with no_collection():
            kept: list[list[int]] = [[] for _ in range(MANY)]
        assert gc.get_freeze_count() == frozen > 0
        assert kept
    finally:
        gc.unfreeze()
        gc.collect()
