"""Reads the keys of ASTRA-sim's JSON files with its conversions, and errors in our words."""

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from simcore.errors import ConfigError, short
from simcore.registry import did_you_mean

_MOST_UNKNOWN = 20
"""Unknown keys that are remarked on one by one."""


class JsonTable:
    """The keys of one JSON object; remembers remarks for the user."""

    def __init__(self, data: object, *, path: Path, notes: list[str]) -> None:
        if not isinstance(data, dict):
            raise ConfigError(str(path), "must be a JSON object", got=data)
        self.data, self.path, self.notes = data, path, notes

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def note(self, text: str) -> None:
        """Adds a remark about this file."""
        self.notes.append(f"{self.path}: {text}")

    def error(self, key: str, rule: str) -> ConfigError:
        """The error for the value of *key*."""
        return ConfigError(f"{self.path} {key}", rule, got=self.data.get(key))

    def note_unknown(self, known: Collection[str], silent: Collection[str] = ()) -> None:
        """Remarks on keys that are not in *known*: ASTRA-sim ignores them, and so do we."""
        unknown = [key for key in self.data if key not in known and key not in silent]
        for key in unknown[:_MOST_UNKNOWN]:
            told = repr(short(key)) if isinstance(key, str) else short(repr(key))
            self.note(f"the key {told} is ignored{did_you_mean(key, known)}.")
        if len(unknown) > _MOST_UNKNOWN:
            self.note(f"{len(unknown) - _MOST_UNKNOWN} more unknown keys are ignored.")

    def number(self, key: str, default: float) -> float:
        """A number; true and false count as 1 and 0."""
        value = self.data.get(key, default)
        if isinstance(value, (int, float)):
            with suppress(OverflowError):  # a whole number beyond every float
                if math.isfinite(value):
                    return float(value)
        raise self.error(key, "must be a number")

    def integer(self, key: str, default: int, *, least: int = 0) -> int:
        """A whole number of at least *least*; fractions are cut, as ASTRA-sim does."""
        value = self.number(key, default)
        whole = int(self.data[key]) if key in self.data else default
        if value != whole:
            self.note(f"{key} {value} is cut to {whole}.")
        if not least <= whole < 2**62:
            raise self.error(key, f"must be a whole number from {least} to 2^62")
        return whole

    def flag(self, key: str) -> bool:
        """True if a switch (0 or 1) is on; off where absent."""
        return self.number(key, 0.0) != 0.0

    def text(self, key: str, default: str) -> str:
        """A text."""
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.error(key, "must be a text")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of *choices*; where absent, *default*, with a remark."""
        if key not in self.data:
            self.note(f"{key} is missing; {default} is taken (ASTRA-sim's choice is undefined).")
        value = self.text(key, default)
        if value not in choices:
            hint = did_you_mean(value, choices)
            raise self.error(key, f"must be one of {', '.join(choices)}{hint}")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, or None where absent."""
        if key not in self.data:
            return None
        value = self.data[key]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(key, "must be a list of texts")
        return tuple(value)
