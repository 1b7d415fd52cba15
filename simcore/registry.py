"""Registry: one kind of component, its names, and the class behind each name."""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from simcore.errors import ConfigError

T = TypeVar("T")
_LONGEST_NAME = 80


class Registry(Generic[T]):
    """An explicit table from the names that files use to components.

    A new component is one file and one line in the table of its package; from outside, one call of
    ``add``.
    """

    def __init__(
        self, what: str, entries: Mapping[str, T], check: Callable[[T], None] | None = None
    ) -> None:
        self.what = what
        self._entries = dict(entries)
        self._check = check

    def add(self, name: str, entry: T) -> None:
        """Add a component of one's own.

        Raises:
            ConfigError: The name is taken or no name, or the component breaks a rule of its kind.
        """
        if name in self._entries:
            raise ConfigError(self.what, "must have a name that is not taken", got=name)
        if not name.isidentifier():
            rule = "must have a name of letters, digits and underscores"
            raise ConfigError(self.what, rule, got=name)
        if self._check is not None:
            self._check(entry)
        self._entries[name] = entry

    def __getitem__(self, name: str) -> T:
        try:
            return self._entries[name]
        except KeyError:
            raise self.unknown(name) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[str, T]]:
        return iter(self._entries.items())

    def unknown(self, name: object, *, at: str = "") -> ConfigError:
        """The error for a *name* that is not in the table: lists the choices."""
        rule = f"{self.what} must be one of {', '.join(self._entries)}"
        return ConfigError(at, rule + did_you_mean(name, self._entries), got=name)


def did_you_mean(name: object, choices: object) -> str:
    """A hint such as `` (did you mean 'ring'?)``, or nothing where no choice is near."""
    from difflib import get_close_matches  # needed only where something is wrong

    names = [str(choice) for choice in choices]  # type: ignore[attr-defined]
    near = get_close_matches(str(name)[:_LONGEST_NAME], names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
