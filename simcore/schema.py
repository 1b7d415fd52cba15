"""Base of what files hold: frozen pydantic models whose errors read like ours.

In files a quantity is text with its unit (``bandwidth: 50 GB/s``) and its key has no suffix; in
code the same field is a number whose name ends in the unit (``bandwidth_bytes_per_s=50e9``).
"""

import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails

from simcore.errors import ConfigError, short
from simcore.registry import did_you_mean
from simcore.units import FACTORS, parse_quantity

FROM_FILE = {"from_file": True}


def _quantity(base: str) -> Any:
    def read(value: object, info: ValidationInfo) -> object:
        if isinstance(value, str):
            return parse_quantity(value, base)
        if info.context and info.context.get("from_file") and value is not None:
            raise ValueError(f"must have a unit, such as '{value} {next(iter(FACTORS[base]))}'")
        return value

    schema: dict[str, Any] = {
        "type": "string",
        "description": f"a number and a unit: {', '.join(FACTORS[base])}",
    }
    return Annotated[
        float, BeforeValidator(read, json_schema_input_type=str), Field(json_schema_extra=schema)
    ]


if TYPE_CHECKING:  # to a type checker a quantity is its number in base units
    Bytes = float
    BytesPerS = float
    Seconds = float
    FlopPerS = float
    Watts = float
    Usd = float
    UsdPerGBps = float
    WattsPerGBps = float
    UsdPerKwh = float
    UsdPerHour = float
    KgPerKwh = float
    PerYear = float
    Hertz = float
else:
    Bytes = _quantity("B")
    BytesPerS = _quantity("B/s")
    Seconds = _quantity("s")
    FlopPerS = _quantity("FLOP/s")
    Watts = _quantity("W")
    Usd = _quantity("USD")
    UsdPerGBps = _quantity("USD/(GB/s)")
    WattsPerGBps = _quantity("W/(GB/s)")
    UsdPerKwh = _quantity("USD/kWh")
    UsdPerHour = _quantity("USD/h")
    KgPerKwh = _quantity("kg/kWh")
    PerYear = _quantity("1/year")
    Hertz = _quantity("Hz")


class Schema(BaseModel):
    """Base of every model that is read from a file: frozen, unknown keys refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        allow_inf_nan=False,
        str_strip_whitespace=True,
    )

    _whole_numbers: ClassVar[tuple[str, ...]] = ()
    """Keys of fields that are whole numbers."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_switch_as_number(cls, data: Any) -> Any:
        """``true`` is no number, although Python counts with it."""
        if isinstance(data, dict):
            for key in cls._whole_numbers:
                if isinstance(data.get(key), bool):
                    raise ConfigError(key, "must be a valid integer", got=data[key])
        return data

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        fields = cls.model_fields.items()
        cls._whole_numbers = tuple(f.alias or name for name, f in fields if f.annotation is int)

    @classmethod
    def from_file_data(cls, data: object, *, at: str) -> Self:
        """Check *data*, as read from a file, and build the model.

        Raises:
            ConfigError: The first rule that *data* breaks, with its place below *at*.
        """
        try:
            return cls.model_validate(data, context=FROM_FILE, by_alias=True, by_name=False)
        except ValidationError as error:
            raise config_error(error, cls, data, at=at) from None

    @classmethod
    def build(cls, at: str = "", **values: Any) -> Self:
        """Build the model from Python values, by field name, with our errors."""
        try:
            return cls.model_validate(values, by_alias=False, by_name=True)
        except ValidationError as error:
            raise config_error(error, cls, values, at=at) from None


def config_error(
    error: ValidationError, model: type[BaseModel], data: object, *, at: str
) -> ConfigError:
    """The first problem of *data*, of which pydantic says *error*: place, rule and value."""
    problems = error.errors(include_url=False)
    # a misspelt key also leaves the right one missing: the unknown key is the better hint
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    # where a word or a table may stand and there is a table, it is the table that is wrong
    of_words = [p for p in problems if p["type"] == "string_type" and isinstance(p["input"], dict)]
    problem = (unknown or [p for p in problems if p not in of_words] or problems)[0]
    location = _keys_of(problem, data)
    place = _place(at, location)
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        known = _keys_at(model, location[:-1])
        key = location[-1]
        rule = f"unknown key; the keys here are {', '.join(known)}{did_you_mean(key, known)}"
        return ConfigError(place, rule, got=problem["input"])
    if kind == "missing":
        known = _keys_at(model, location[:-1])
        return ConfigError(place, "this key is required", got=_MISSING)
    inner = context.get("error")
    if isinstance(inner, ConfigError):
        return inner.under(place) if place else inner
    if kind in ("literal_error", "enum"):
        expected = str(context["expected"])
        words = [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]
        rule = f"must be one of {expected}{did_you_mean(problem['input'], words)}"
        return ConfigError(place, rule, got=problem["input"])
    if inner is not None:
        return ConfigError(place, str(inner), got=problem["input"])
    # each branch of a union says what it would take
    rules = [_rule(other) for other in problems if _keys_of(other, data) == location]
    return ConfigError(place, " or ".join(dict.fromkeys(rules)), got=problem["input"])


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def _rule(problem: ErrorDetails) -> str:
    """Rule that *problem* breaks, in our words."""
    if problem["type"] in ("model_type", "dict_type"):
        return "must be a table of keys and values"
    return _plain(problem["msg"])


def _plain(message: str) -> str:
    message = message.removeprefix("Input should be ").removeprefix("Value error, ")
    if message.startswith(("greater", "less")):
        return f"must be {message}"
    if message.startswith("Tuple should have "):
        return f"must have {message.removeprefix('Tuple should have ').split(' after')[0]}"
    if message == "a valid tuple":
        return "must be a list"
    if message.startswith("a "):
        return f"must be {message.split(',')[0]}"
    return message[0].lower() + message[1:] if message else message


_BRANCH = re.compile(
    r"function-.*|(list|tuple|dict|literal|nullable|union)\[.*|constrained-\w+"
    r"|bool|int|float|str|[A-Z]\w*"
)


def _keys_of(problem: ErrorDetails, data: object) -> tuple[object, ...]:
    """Keys and positions in *data* that lead to *problem*."""
    keys: list[object] = []
    for at, part in enumerate(problem["loc"]):
        is_last = at == len(problem["loc"]) - 1
        if (is_last and problem["type"] in _OF_KEYS) or _is_key(part, data):
            keys.append(part)
            data = _child(data, part)
    return tuple(keys)


_OF_KEYS = ("extra_forbidden", "missing")
"""Problems whose last part is a key, be it one of the file or one that it lacks."""


def _is_key(part: object, data: object) -> bool:
    # pydantic names the branch of a union or a validator in the location; a file has no such key
    found = isinstance(data, dict) and part in data
    return found or not isinstance(part, str) or _BRANCH.fullmatch(part) is None


def _child(data: object, part: object) -> object:
    if isinstance(data, dict):
        return data.get(part)
    if isinstance(data, list | tuple) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def _place(at: str, location: tuple[object, ...]) -> str:
    place = at
    for part in location:
        place += (
            f"[{part}]" if isinstance(part, int) else f"{'.' if place else ''}{short(str(part))}"
        )
    return place


def _keys_at(model: type[BaseModel], location: tuple[object, ...]) -> list[str]:
    """The keys that the model at *location* below *model* knows."""
    for part in location:
        if isinstance(part, int):
            continue
        found = _model_of_key(model, str(part))
        if found is None:
            return []
        model = found
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_of_key(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    for name, field in model.model_fields.items():
        if key in (field.alias, name):
            return _first_model(field.annotation)
    return None


def _first_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if (found := _first_model(inner)) is not None:
            return found
    return None
