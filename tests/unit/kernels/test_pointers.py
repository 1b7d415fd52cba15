"""Arrays as addresses, where kernels run in plain Python."""

import numpy as np

from simcore.kernels.jit import njit
from simcore.kernels.npu.pointers import address_of, pointer, shorts_at, words_at


def test_where_compiling_is_off_a_kernel_gets_a_flat_view() -> None:
    table = np.zeros((2, 3), np.int64)
    pointer(table)[4] = 7
    assert table[1, 1] == 7


def test_numbers_at_an_address_are_those_of_the_array_there() -> None:
    words, shorts = np.arange(5) - 2, np.arange(3, dtype=np.int32) - 1
    assert words_at(address_of(words), 5).tolist() == words.tolist()
    assert shorts_at(address_of(shorts), 3).tolist() == shorts.tolist()
    assert words_at(0, 0).size == 0


@njit(cache=True)
def _sum_of(address: int, short: int, count: int) -> int:
    total, words, shorts = 0, words_at(address, count), shorts_at(short, count)
    for place in range(count):
        total += words[place] + shorts[place]
    return total


def test_a_kernel_reads_the_numbers_at_an_address() -> None:
    words, shorts = np.array([3, 2**40]), np.array([-1, 5], np.int32)
    assert _sum_of(address_of(words), address_of(shorts), 2) == 2**40 + 7
