"""Reads text workloads: a parallelism keyword, a layer count, and one line per layer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import read_text

_COLUMNS = [
    "name",
    "reserved",
    "fwd_time",
    "fwd_comm",
    "fwd_size",
    "ig_time",
    "ig_comm",
    "ig_size",
    "wg_time",
    "wg_comm",
    "wg_size",
    "update_time",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPhase:
    """One of a layer's three phases: its time (in the file's unit) and its collective."""

    time: int
    comm: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One line: forward, input gradient, weight gradient, and a 13th column if there is one."""

    name: str
    forward: LayerPhase
    input_grad: LayerPhase
    weight_grad: LayerPhase
    parallelism: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWorkload:
    """A text workload.

    Attributes:
        path: Where it was read from.
        text: The whole file.
        keyword: The parallelism.
        arguments: What follows it without a key.
        options: What follows as ``key: values``.
        count: The layer count that line 2 states.
        layers: The layers.
    """

    path: Path
    text: str
    keyword: str
    arguments: tuple[str, ...] = ()
    options: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    count: int
    layers: tuple[Layer, ...]

    def option(self, key: str, default: int) -> int:
        """The single number behind *key*.

        Raises:
            ConfigError: There are several.
        """
        values = self.options.get(key, (default,))
        if len(values) != 1 or values[0] < 0:
            raise ConfigError(f"{self.path} line 1 {key}", "must be one number", got=list(values))
        return values[0]


def read_text_workload(path: Path) -> TextWorkload:
    """Reads a text workload.

    Raises:
        ConfigError: A line is short or blank, or a number is none; says the line.
    """
    text = read_text(path)
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].split():
        rule = "must begin with a parallelism keyword and a layer count"
        raise ConfigError(str(path), rule, got=lines[:2])
    keyword, *rest = lines[0].split()
    arguments, options = _arguments(path, rest)
    return TextWorkload(
        path=path,
        text=text,
        keyword=keyword,
        arguments=arguments,
        options=options,
        count=_integer(path, 2, "the layer count", lines[1].strip()),
        layers=tuple(_layer(path, i, line) for i, line in enumerate(lines[2:], start=3)),
    )


def _arguments(path: Path, words: list[str]) -> tuple[tuple[str, ...], dict[str, tuple[int, ...]]]:
    plain: list[str] = []
    options: dict[str, tuple[int, ...]] = {}
    key = ""
    for word in words:
        if word.endswith(":"):
            key = word[:-1]
            options[key] = ()
        elif key:
            options[key] += (_integer(path, 1, key, word),)
        else:
            plain.append(word)
    return tuple(plain), options


def _integer(path: Path, line: int, what: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        place = f"{path} line {line}"
        raise ConfigError(place, f"{what} must be a whole number", got=text) from None


def _layer(path: Path, line: int, text: str) -> Layer:
    columns = text.split()
    if len(columns) < len(_COLUMNS):
        rule = f"a layer needs the {len(_COLUMNS)} columns {' '.join(_COLUMNS)}"
        raise ConfigError(f"{path} line {line}", rule, got=f"{len(columns)} columns")

    def phase(first: int) -> LayerPhase:
        time = _integer(path, line, _COLUMNS[first], columns[first])
        size = _integer(path, line, _COLUMNS[first + 2], columns[first + 2])
        if time < 0 or size < 0:
            rule = f"{_COLUMNS[first]} and {_COLUMNS[first + 2]} must be 0 or more"
            raise ConfigError(f"{path} line {line}", rule, got=min(time, size))
        return LayerPhase(time=time, comm=columns[first + 1], size_bytes=size)

    return Layer(
        name=columns[0],
        forward=phase(2),
        input_grad=phase(5),
        weight_grad=phase(8),
        parallelism=columns[12] if len(columns) > 12 else "",
    )
