"""Tables that grow: read at any time, they are all rows so far."""

import numpy as np
import pytest

from simcore.bounds.grown import Grown


@pytest.mark.parametrize("width", [None, 3])
def test_a_table_read_while_it_grows_is_the_list_of_its_rows_and_stays_as_it_was_read(
    width: int | None,
) -> None:
    random = np.random.default_rng(1)
    grown, rows = Grown(np.int64, () if width is None else (width,)), list[object]()
    read: list[tuple[np.ndarray, list[object]]] = []
    for _ in range(60):
        more = random.integers(99, size=(int(random.integers(6)), width or 1)).tolist()
        added = more if width else [row[0] for row in more]
        if more and random.integers(2):
            grown.join(np.array(added, np.int64))
        else:
            grown.extend(added)
        rows += added
        last = [7] * width if width else 7
        assert grown.array_and(last).tolist() == [*rows, last]
        assert len(grown) == len(rows)
        read.append((grown.array(), list(rows)))
    for array, then in read:
        assert array.tolist() == then
