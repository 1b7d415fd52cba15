"""The order of all tests: files that run whole studies or break things first, on every worker."""

import pytest

LONGEST = ("tests/unit/dse/", "tests/faults/", "tests/property/", "tests/golden/")
"""Folders whose files take most of the time, one file up to a minute: begun last, one of them would
hold up the end of the suite while the other cores are idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the folders of ``LONGEST`` first, and keep the order within each."""

    def rank(item: pytest.Item) -> int:
        ranks = [at for at, folder in enumerate(LONGEST) if item.nodeid.startswith(folder)]
        return ranks[0] if ranks else len(LONGEST)

    items.sort(key=rank)
