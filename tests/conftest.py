"""Holds what every test runs to sums that all versions of Python round alike."""

import builtins
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

PACKAGES = ("simcore", "dse")


@pytest.fixture(autouse=True, scope="session")
def sums_of_floats_are_plain() -> Iterator[None]:
    """Python's own ``sum`` of floats refuses to work for the packages, while tests run."""
    summed = builtins.sum

    def checked(values: Iterable[Any], /, start: Any = 0) -> Any:
        found = summed(values, start)
        if isinstance(found, float):
            caller = str(sys._getframe(1).f_globals.get("__name__", ""))
            assert caller.partition(".")[0] not in PACKAGES, (
                f"{caller} adds floats with sum, which rounds otherwise from Python 3.12 on: "
                "use simcore.units.plain_sum"
            )
        return found

    builtins.sum = checked
    yield
    builtins.sum = summed
