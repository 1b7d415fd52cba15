"""Memo of the ends of members of a collective, by how they have begun.

Arrays: see ``classes.layout``.
"""

import numpy as np

from simcore.kernels.classes import layout as f
from simcore.kernels.classes.collectives import end_members, members_of
from simcore.kernels.classes.layout import Ints
from simcore.kernels.jit import njit
from simcore.kernels.npu.layout import NpuLayout


def empty_memo(places: int) -> Ints:
    """A memory of so many places in its table, a power of two."""
    memo = np.zeros(f.MEMO_TABLE + places * (1 + f.WORDS_PER_PLACE), np.int64)
    memo[f.MEMO_USED], memo[f.MEMO_PLACES] = f.MEMO_TABLE + places, places
    return memo


@njit(cache=True)
def remember(node: Ints, table: Ints, counter: Ints, memo: Ints, members: Ints, end: Ints) -> bool:
    """Write down when members ended that began so; whether there was room."""
    count, address = end.size, memo[f.MEMO_USED]
    if address + f.KEY_WORDS + 2 * count > memo.size:
        return False
    place = _place_in_memo(node, table, counter, memo, members)
    memo[f.MEMO_TABLE + place] = address
    _write_key(node, table, counter, members, memo, address)
    for member in range(count):
        memo[address + f.KEY_WORDS + count + member] = end[member] - members[0, f.BEGAN]
    memo[f.MEMO_USED] = address + f.KEY_WORDS + 2 * count
    return True


@njit(cache=True)
def end_as_before(
    node: Ints, npu: Ints, at: NpuLayout, table: Ints, event: Ints, counter: Ints, memo: Ints
) -> bool:
    """End a collective whose members have begun like this before; whether they have."""
    members = members_of(node, npu, at, table, counter)
    address = memo[f.MEMO_TABLE + _place_in_memo(node, table, counter, memo, members)]
    count = members.shape[0]
    if address == 0 or (members[:, f.FIRST_TREE] != members[0, f.FIRST_TREE]).any():
        return False
    end = (
        memo[address + f.KEY_WORDS + count : address + f.KEY_WORDS + 2 * count]
        + members[0, f.BEGAN]
    )
    end_members(node, npu, at, event, counter, members, end)
    return True


@njit(cache=True)
def _write_key(
    node: Ints, table: Ints, counter: Ints, members: Ints, to: Ints, address: int
) -> None:
    to[address] = table[counter[f.SAME_AS] + node[members[0, f.AT_NODE], f.ITEM]]
    to[address + 1] = members[0, f.MEMBER] % counter[f.CLASSES]
    to[address + 2] = members[0, f.FIRST_TREE]
    to[address + 3] = members.shape[0]
    for member in range(members.shape[0]):
        to[address + f.KEY_WORDS + member] = members[member, f.BEGAN] - members[0, f.BEGAN]


@njit(cache=True)
def _place_in_memo(node: Ints, table: Ints, counter: Ints, memo: Ints, members: Ints) -> int:
    """Place in the table of such members, or the free one that is theirs."""
    size = f.KEY_WORDS + members.shape[0]
    key = np.empty(size, np.int64)
    _write_key(node, table, counter, members, key, 0)
    number = 17
    for word in key:  # of 40 bits, so that no product exceeds 64
        number = (number * 1000003 ^ (word & 0x7FFFFFFF)) & 0xFFFFFFFFFF
    mask = memo[f.MEMO_PLACES] - 1
    place = (number >> 8) & mask
    while True:
        address = memo[f.MEMO_TABLE + place]
        if address == 0 or _is_at(memo, address, key):
            return place
        place = (place + 1) & mask


@njit(cache=True)
def _is_at(memo: Ints, address: int, key: Ints) -> bool:
    """True if *key* is written there: word by word, for a shorter entry may be the last one."""
    word = 0
    while word < key.size and memo[address + word] == key[word]:
        word += 1
    return word == key.size
