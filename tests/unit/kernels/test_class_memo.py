"""What is remembered of collectives, up to the last word of the memory."""

import numpy as np

from simcore.kernels import class_layout as f
from simcore.kernels import class_memo
from simcore.kernels.class_memo import remember


def members_beginning_at(*began: int) -> f.Ints:
    members = np.zeros((len(began), f.MEMBER_FIELDS), np.int64)
    members[:, f.MEMBER] = np.arange(len(began))
    members[:, f.BEGAN] = began
    return members


def test_a_longer_key_is_held_against_the_last_entry_without_reading_on() -> None:
    node = np.zeros((2, f.ITEM + 1), np.int64)
    counter = np.zeros(f.COUNTERS, np.int64)
    counter[f.CLASSES] = 64
    memo = np.zeros(f.MEMO_START + f.KEY_WORDS + 2 * 2, np.int64)
    memo[0] = f.MEMO_START
    remember(node, counter, memo, members_beginning_at(0, 5), np.array([7, 8]))
    assert memo[0] == memo.size
    # every place but one leads to that entry, with which the memory ends
    memo[f.MEMO_TABLE : f.MEMO_START] = f.MEMO_START
    memo[f.MEMO_TABLE + 4711] = 0
    longer = members_beginning_at(*range(9))
    assert class_memo._place_in_memo(node, counter, memo, longer) == 4711
    before = memo.copy()
    remember(node, counter, memo, longer, np.arange(9))  # there is no room for it
    np.testing.assert_array_equal(memo, before)
