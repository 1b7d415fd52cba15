"""The exception tree of simcore.

SimcoreError
├── ConfigError       an input breaks a rule: where, which rule, what was found
├── InfeasibleError   a legal input that cannot be built or run: an outcome, not a mistake
└── SimulationError   a simulation that cannot end (deadlock) or met a broken trace
"""

from collections.abc import Iterator
from functools import partial

_LONGEST_SHOWN = 120
_LONGEST_PLACE, _LONGEST_RULE = 500, 2000
_DEEPEST_SHOWN = 16
_LONGEST_INT_BITS = 4096


class SimcoreError(Exception):
    """Base of every exception that simcore raises on purpose."""


class ConfigError(SimcoreError, ValueError):
    """Reads "<place>: <rule>, but got <value>.", so that the line can be found and mended."""

    def __init__(self, at: str, rule: str, *, got: object) -> None:
        super().__init__(at, rule, got)
        self.at, self.rule, self.got = at, rule, got

    def __str__(self) -> str:
        at = self.at if len(self.at) <= _LONGEST_PLACE else f"...{self.at[-_LONGEST_PLACE:]}"
        where = f"{at}: " if at else ""
        rule = self.rule if len(self.rule) <= _LONGEST_RULE else f"{self.rule[:_LONGEST_RULE]}..."
        return f"{where}{rule}, but got {_shown(self.got)}."

    def __reduce__(self) -> tuple[object, ...]:
        return partial(ConfigError, got=self.got), (self.at, self.rule)

    def under(self, parent: str) -> "ConfigError":
        """Error as seen from one level up the file."""
        joint = "" if not self.at or self.at.startswith("[") else ": " if ":" in self.at else "."
        return ConfigError(f"{parent}{joint}{self.at}", self.rule, got=self.got)

    @property
    def names_file(self) -> bool:
        """True if the place begins with a file."""
        return any(suffix in self.at for suffix in (".yaml", ".yml", ".csv"))

    def in_file(self, file: object) -> "ConfigError":
        """Error that names *file*, unless it names one already."""
        if self.names_file or self.at == str(file) or self.at.startswith((f"{file} ", f"{file}: ")):
            return self
        return ConfigError(f"{file}: {self.at}" if self.at else str(file), self.rule, got=self.got)


class InfeasibleError(SimcoreError):
    """A design that breaks a structural or memory rule; carries the name of the rule."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(rule, reason)
        self.rule, self.reason = rule, reason

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


class SimulationError(SimcoreError):
    """A simulation that cannot go on; the message names the NPUs and nodes that wait."""


def told(error: BaseException) -> str:
    """The kind of an error of code from outside, and what it says, in one line."""
    return short(" ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":"))


def short(text: str) -> str:
    """*text*, such as a key of a file, cut to what a sentence can hold."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def _shown(value: object) -> str:
    text = ""
    for piece in _pieces(value, 0):  # never all of a value that holds millions
        text += piece
        if len(text) > _LONGEST_SHOWN:
            break
    return short(text)


def _pieces(value: object, depth: int) -> Iterator[str]:
    """Parts of ``repr``, bit by bit."""
    if depth > _DEEPEST_SHOWN:
        yield "..."
    elif type(value) is dict:
        yield "{"
        for at, (key, inner) in enumerate(value.items()):
            yield ", " if at else ""
            yield from _pieces(key, depth + 1)
            yield ": "
            yield from _pieces(inner, depth + 1)
        yield "}"
    elif type(value) is list or type(value) is tuple:
        yield "[" if type(value) is list else "("
        for at, inner in enumerate(value):
            yield ", " if at else ""
            yield from _pieces(inner, depth + 1)
        yield "]" if type(value) is list else ",)" if len(value) == 1 else ")"
    elif isinstance(value, int) and value.bit_length() > _LONGEST_INT_BITS:
        yield "a whole number of hundreds of digits"  # of which Python writes a part at most
    else:
        yield repr(value[: 2 * _LONGEST_SHOWN] if isinstance(value, str | bytes) else value)
