"""The NPUs of a job as a file tells them: a rule, a count, ranges, or a list."""

import re
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from simcore.errors import ConfigError
from simcore.jobs.allocations import ALLOCATIONS
from simcore.schema import Schema

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_MOST = 1 << 20


class AllocationChoice(Schema):
    """An allocation by name.

    Attributes:
        rule: A name of ``ALLOCATIONS``, or ``package.module:Object``.
        options: Those of the rule.
    """

    rule: str = "contiguous"
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_rule(self) -> Self:
        if self.rule not in ALLOCATIONS:
            raise ALLOCATIONS.unknown(self.rule, at="rule")
        ALLOCATIONS[self.rule].options.from_file_data(self.options, at="options")
        return self

    def allocate(self, free: list[int], count: int, at: str) -> list[int]:
        """NPUs for a plan of *count*, of the *free* ones.

        Raises:
            ConfigError: There are none such.
        """
        rule = ALLOCATIONS[self.rule]
        options = rule.options.from_file_data(self.options, at=f"{at}.options")
        try:
            found = [int(npu) for npu in rule.allocate(free, options.count or count, options)]
        except ConfigError as error:
            raise error.under(at) from None
        if len(set(found)) < len(found):
            twice = next(npu for npu in found if found.count(npu) > 1)
            raise ConfigError(at, "must name each NPU once", got=twice)
        return found


def _read_short(data: object) -> object:
    """The table that a count, ranges such as ``0-63,80``, or a list of NPUs stands for."""
    if isinstance(data, bool):
        return data
    if isinstance(data, int):
        return {"options": {"count": data}}
    if isinstance(data, str) and (data in ALLOCATIONS or ":" in data):
        return {"rule": data}
    if isinstance(data, str):
        return {"rule": "listed", "options": {"npus": _ranges(data)}}
    if isinstance(data, list | tuple):
        return {"rule": "listed", "options": {"npus": list(data)}}
    return data


def _ranges(text: str) -> list[int]:
    found = list[int]()
    for part in text.split(","):
        told = _RANGE.fullmatch(part.strip())
        last = int(told[2] or told[1]) if told else -1
        if told is None or not int(told[1]) <= last < int(told[1]) + _MOST:
            rule = f"must be one of {', '.join(ALLOCATIONS)}, or NPUs such as 0-63,80"
            raise ConfigError("", rule, got=text)
        found += range(int(told[1]), last + 1)
    return found


Allocation = Annotated[
    AllocationChoice,
    BeforeValidator(
        _read_short, json_schema_input_type=int | str | tuple[int, ...] | AllocationChoice
    ),
]
"""An allocation, in a file also a count of NPUs, ranges of them, or a list."""
