"""What is remembered of collectives, up to the last word of the memory."""

from types import SimpleNamespace
from typing import cast

import numpy as np

from simcore.engines.classes.state import ClassState, keep_ends
from simcore.kernels.classes import layout as f
from simcore.kernels.classes import memo as class_memo
from simcore.kernels.classes.memo import empty_memo, remember

NODE = np.zeros((2, f.NODE_FIELDS), np.int64)
TABLE = np.zeros(1, np.int64)
COUNTER = np.zeros(f.COUNTERS, np.int64)
COUNTER[f.CLASSES] = 64


def members_beginning_at(*began: int) -> f.Ints:
    members = np.zeros((len(began), f.MEMBER_FIELDS), np.int64)
    members[:, f.MEMBER] = np.arange(len(began))
    members[:, f.BEGAN] = began
    return members


def test_a_longer_key_is_held_against_the_last_entry_without_reading_on() -> None:
    first = f.MEMO_TABLE + 1024
    memo = empty_memo(1024)[: first + f.KEY_WORDS + 2 * 2]
    assert remember(NODE, TABLE, COUNTER, memo, members_beginning_at(0, 5), np.array([7, 8]))
    assert memo[f.MEMO_USED] == memo.size
    # every place but one leads to that entry, with which the memory ends
    memo[f.MEMO_TABLE : first] = first
    memo[f.MEMO_TABLE + 471] = 0
    longer = members_beginning_at(*range(9))
    assert class_memo._place_in_memo(NODE, TABLE, COUNTER, memo, longer) == 471
    before = memo.copy()
    assert not remember(NODE, TABLE, COUNTER, memo, longer, np.arange(9))  # there is no room for it
    np.testing.assert_array_equal(memo, before)


def test_a_memory_that_is_full_starts_anew_with_more_room() -> None:
    assert not remember_all(empty_memo(1024), 1000)
    state = SimpleNamespace(node=NODE, table=TABLE, counter=COUNTER, memo=empty_memo(1024))
    for number in range(1000):
        keep_ends(cast(ClassState, state), members_beginning_at(0, number), np.array([7, number]))
    assert state.memo[f.MEMO_PLACES] == 8192
    last = members_beginning_at(0, 999)
    place = class_memo._place_in_memo(NODE, TABLE, COUNTER, state.memo, last)
    at = int(state.memo[f.MEMO_TABLE + place]) + f.KEY_WORDS
    assert state.memo[at : at + 4].tolist() == [0, 999, 7, 999]


def remember_all(memo: f.Ints, count: int) -> bool:
    starts = (members_beginning_at(0, number) for number in range(count))
    return all(
        remember(NODE, TABLE, COUNTER, memo, members, np.array([7, 8])) for members in starts
    )
