"""The ``space`` part of a study file, as it is written."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from simcore import Schema

MAX_INT = 2**53
"""Greatest whole number of a knob: all up to it are exact as floats too."""

MAX_PRODUCT = 2**32

MAX_AXES = 1_000
"""Knobs of a study, terms and rules, each: ten times what the largest shipped study has."""

FileInt = Annotated[StrictInt, Field(ge=-MAX_INT, le=MAX_INT)]
FileValue = StrictBool | FileInt | StrictFloat | StrictStr
Rules = Annotated[tuple[str, ...], Field(max_length=MAX_AXES)]


class ProductFile(Schema):
    """Knobs whose values multiply to a fixed number.

    Attributes:
        of: Names of the knobs; ``[*]`` stands for every network dimension.
        equals: The product, or ``npus`` for the number of NPUs of the platform.
        limits: Values that a knob may take; without a line, all divisors.
        values: Values that every knob of the group may take.
        dimensions: For a ``[*]`` group: the numbers of dimensions to try, or a table from each
            number to the positions in the run's list that stay.
    """

    of: Annotated[tuple[str, ...], Field(min_length=1)]
    equals: Annotated[int, Field(ge=1, le=MAX_PRODUCT)] | str
    limits: dict[str, Annotated[tuple[FileInt, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    values: Annotated[tuple[FileInt, ...], Field(min_length=1)] | None = None
    dimensions: dict[int, tuple[int, ...]] | tuple[int, ...] | None = None

    @model_validator(mode="after")
    def _known_limits(self) -> "ProductFile":
        for name in self.limits:
            if name not in self.of and name.split("[")[0] not in {n.split("[")[0] for n in self.of}:
                raise ValueError(f"limits: {name} must be one of {', '.join(self.of)}")
        return self


ADMITTED = "admitted"
"""In place of choices: the collective algorithms that a dimension admits."""


class AxisFile(Schema):
    """One knob: ``choices``, a ``ladder`` of quantities, or a range from ``low`` to ``high``.

    Attributes:
        choices: Words, flags or counts; ``admitted``, of an algorithm of collectives: all that the
            dimension admits.
        ladder: Numbers with a unit, or counts, in rising order.
        low: Least value of a continuous knob, with its unit.
        high: Greatest value of a continuous knob, with its unit.
        log: Whether the range is searched on a logarithmic scale.
        when: Rule; where it does not hold, the knob has no meaning and keeps the run's value.
        sets: Paths that take the value, where the name is not itself a path.
    """

    choices: Annotated[tuple[FileValue, ...], Field(min_length=1)] | Literal["admitted"] | None = (
        None
    )
    ladder: Annotated[tuple[FileValue, ...] | None, Field(min_length=1)] = None
    low: FileValue | None = None
    high: FileValue | None = None
    log: bool = False
    when: str | None = None
    sets: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_form(self) -> "AxisFile":
        forms = [self.choices is not None, self.ladder is not None, self.low is not None]
        if sum(forms) != 1:
            raise ValueError("must hold exactly one of choices, ladder, or low and high")
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high must both be given")
        return self


class DerivedFile(Schema):
    """A knob whose value follows from others.

    Attributes:
        value: What it is: an expression of knobs and values of the run.
        unit: Base unit of its numbers, in which the expression gives them.
        sets: Paths that take the value, where the name is not itself a path.
    """

    value: str = Field(alias="is")
    unit: str | None = None
    sets: tuple[str, ...] = ()


class BudgetFile(Schema):
    """Knobs with a range whose values add up to a fixed sum.

    Attributes:
        of: Names of the knobs; ``[*]`` stands for every network dimension.
        equals: The sum, with its unit.
    """

    of: Annotated[tuple[str, ...], Field(min_length=1)]
    equals: StrictInt | StrictFloat | StrictStr


class SpaceFile(Schema):
    """All knobs of a study and the rules that join them.

    Attributes:
        products: Groups of knobs with a fixed product.
        axes: The other knobs, by name.
        terms: Names for what rules count with, each an expression that may use those before it.
        budgets: Knobs with a range that add up to a fixed sum.
        derive: Knobs that nobody chooses, by name, each an expression of others.
        require: Rules of the problem; a design that breaks one is not in the space.
        narrow: Further rules that keep the search inside what the evaluator can build; counted
            apart, so that a published problem keeps its published size.
    """

    products: tuple[ProductFile, ...] = Field(default=(), max_length=MAX_AXES)
    axes: dict[str, AxisFile] = Field(default_factory=dict, max_length=MAX_AXES)
    terms: dict[str, str] = Field(default_factory=dict, max_length=MAX_AXES)
    budgets: tuple[BudgetFile, ...] = Field(default=(), max_length=MAX_AXES)
    derive: dict[str, str | DerivedFile] = Field(default_factory=dict, max_length=MAX_AXES)
    require: Rules = ()
    narrow: Rules = ()

    @model_validator(mode="before")
    @classmethod
    def _not_empty(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("products") and not data.get("axes"):
            raise ValueError("must hold at least one of products and axes")
        return data
