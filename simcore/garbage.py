"""Pauses of Python's search for unused objects, while many are made that form no circle."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG_OBJECTS = 50_000
"""New objects between two collections: evaluations leave no cycles, and keep many objects."""

_COLLECTIONS = 1000
"""Collections before objects that outlived one are looked at again: most are kept on purpose, in
caches with a limit, and looking through those of 1,000 designs takes as long as 40 designs."""


def collect_rarely() -> None:
    """Take all that is there out of the search for unused objects, and let it begin less often.

    It would else walk over what evaluations loaded and keep again and again, 0.1 s each time.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, _COLLECTIONS)


@contextmanager
def rare_collection() -> Iterator[None]:
    """``collect_rarely`` for a while."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


_MANY_OBJECTS = 200_000
"""Objects made in a pause from which on they count as old at once.

Fewer are better walked over: where they are old at once, walks over all objects come more often.
"""


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the search for circles of objects while many are made that form none.

    What has been made is walked over after it, unless it is so much that this takes 0.1 s or more.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
