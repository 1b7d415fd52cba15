"""Arrays as addresses, where kernels run in plain Python."""

import numpy as np

from simcore.kernels.npu.pointers import pointer


def test_where_compiling_is_off_a_kernel_gets_a_flat_view() -> None:
    table = np.zeros((2, 3), np.int64)
    pointer(table)[4] = 7
    assert table[1, 1] == 7
