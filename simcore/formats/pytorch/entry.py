"""One object of a profiler's JSON: its values are checked as they are taken."""

from math import isfinite

from simcore.errors import ConfigError

MAX_INT = (1 << 63) - 1
MAX_US = float(1 << 53)
"""The longest time in microseconds: 285 years, up to which a float tells each from the next."""


class Entry:
    """A JSON object with its place, for errors.

    Attributes:
        data: Its keys and values.
        at: File and position, such as ``trace.json nodes[3]``.
    """

    __slots__ = ("at", "data")

    def __init__(self, data: object, at: str) -> None:
        if not isinstance(data, dict):
            raise ConfigError(at, "must be an object", got=data)
        self.data, self.at = data, at

    def error(self, key: str, rule: str) -> ConfigError:
        """The error for the value of *key*."""
        return ConfigError(f"{self.at}.{key}", rule, got=self.data.get(key))

    def text(self, key: str) -> str:
        """A text; empty where absent or null."""
        value = self.data.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(key, "must be a text")
        return value

    def whole(self, key: str, default: int | None = None, *, least: int = 0) -> int:
        """A whole number of 64 bits, of at least *least*; *default* where absent or null."""
        value = self.data.get(key)
        if value is None:
            value = default
        if type(value) is not int or not least <= value <= MAX_INT:
            raise self.error(key, f"must be a whole number from {least} to 2^63 - 1")
        return value

    def time_us(self, key: str, *, least: float = 0.0) -> float:
        """A time in microseconds; 0 where absent or null."""
        value = self.data.get(key)
        if value is None:
            return 0.0
        fine = type(value) is float or type(value) is int
        if not fine or not least <= value <= MAX_US or not isfinite(value):
            raise self.error(key, f"must be a time from {least:g} to 2^53 microseconds")
        return float(value)

    def items(self, key: str) -> list[object]:
        """A list; empty where absent or null."""
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, "must be a list")
        return value

    def inner(self, key: str) -> "Entry":
        """An object; empty where there is none."""
        value = self.data.get(key)
        return Entry(value if isinstance(value, dict) else {}, f"{self.at}.{key}")
