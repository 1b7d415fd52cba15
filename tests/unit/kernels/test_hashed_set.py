"""Sets that are walked in the order of GNU's C++ library; the orders below were printed by it."""

import numpy as np

from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.hashed_set import add_item, begin_set, has_items, take_first
from simcore.kernels.events.structures.set_layout import SET_BUCKETS, set_words


class _Set:
    """Keys in a set of 64 items, between words that must stay as they are."""

    def __init__(self, keys: list[int]) -> None:
        self.keys = np.array(keys, np.uint64).view(np.int64)
        self.at = self.keys.size
        guard = np.full(4, -77, np.int64)
        room = np.full(set_words(self.keys.size), 13, np.int64)  # what lay there before
        self.words: Ints = np.concatenate((self.keys, room, guard))
        begin_set(self.words, self.at, self.keys.size, 0, 1)

    def add(self, items: range) -> None:
        for item in items:
            add_item(self.words, self.at, item)

    def walk(self) -> list[int]:
        walked = []
        while has_items(self.words, self.at):
            walked.append(int(self.keys[take_first(self.words, self.at)]))
        assert (self.words[-4:] == -77).all()
        assert (self.words[: self.at] == self.keys).all()
        return [key % (1 << 64) for key in walked]


def test_up_to_13_new_buckets_come_first() -> None:
    table = _Set([7 * i for i in range(13)])
    table.add(range(13))
    assert table.walk() == [84, 77, 70, 63, 56, 49, 42, 35, 28, 21, 14, 7, 0]


def test_the_fourteenth_item_turns_the_older_ones_round() -> None:
    table = _Set([7 * i for i in range(20)])
    table.add(range(20))
    expected = [133, 126, 119, 112, 105, 98, 91, 0, 7, 14, 21, 28, 35, 42, 49, 56, 63, 70, 77, 84]
    assert table.walk() == expected


def test_an_emptied_set_keeps_its_buckets() -> None:
    later = [87, 117, 145, 175, 203, 233, 261, 291, 319]
    table = _Set([7 * i for i in range(20)] + later)
    table.add(range(20))
    table.walk()
    assert table.words[table.at + SET_BUCKETS] == 29
    table.add(range(20, 29))
    assert table.walk() == [291, 233, 175, 117, 319, 261, 203, 145, 87]


def test_keys_are_unsigned() -> None:
    key, keys = 1, []
    for _ in range(16):
        key = (key * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        keys.append(key)
    table = _Set(keys)
    table.add(range(16))
    printed = [
        4493283409665547658, 13833615605184489617, 5848529123618728455, 7806831264735756412,
        7062582979898595269, 14673421054488193520, 9882984339513518093, 9396908728118811419,
        10218303843513747618, 11960119808228829710, 9232803539723513983, 1206773305466921929,
        14456408541175185048, 15490212636682683044, 3660572683296592931, 13756953107850766454,
    ]  # fmt: skip
    assert table.walk() == printed
