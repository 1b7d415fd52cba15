"""Titled lists of lines: what an explanation is shown as."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """A titled list of lines: a name, a value, and what to make of it."""

    title: str
    lines: tuple[tuple[str, str, str], ...]

    @property
    def is_told(self) -> bool:
        """True if its lines are sentences."""
        return all(line[1:] == ("", "") for line in self.lines)
