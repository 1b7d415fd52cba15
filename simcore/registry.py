"""Registry: one kind of component, its names, and the class behind each name."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import isabstract
from pathlib import PurePath
from typing import Any, Generic, TypeVar, cast

from simcore.errors import ConfigError, told

T = TypeVar("T")
_LONGEST_NAME = 80


class Registry(Generic[T]):
    """An explicit table from the names that files use to components.

    A new component is one file and one line in the table of its package. From outside it is one
    file: files name it ``package.module:Object``, or a call of ``add`` gives it a name.

    Args:
        what: Kind of component, for messages.
        entries: The table: components, or their places, ``package.module:Object``, from which they
            are imported when they are first asked for.
        check: Refuses a component from outside that breaks a rule of its kind.
        adapt: Makes an entry of the object that ``package.module:Object`` names, or refuses it;
            None: the table takes no such names.
        reserved: Form of names that mean something already.
    """

    def __init__(
        self,
        what: str,
        entries: Mapping[str, T | str],
        check: Callable[[T], None] | None = None,
        *,
        adapt: Callable[[object], T] | None = None,
        reserved: str = "",
    ) -> None:
        self.what = what
        self._entries: dict[str, T | str] = dict(entries)
        self._outside: dict[str, T] = {}
        self._check, self._adapt, self._reserved = check, adapt, reserved

    def add(self, name: str, entry: T) -> None:
        """Add a component of one's own.

        Raises:
            ConfigError: The name is taken or no name, or the component breaks a rule of its kind.
        """
        if name in self._entries or (self._reserved and re.fullmatch(self._reserved, name)):
            raise ConfigError(self.what, "must have a name that is not taken", got=name)
        if not name.isidentifier():
            rule = "must have a name of letters, digits and underscores"
            raise ConfigError(self.what, rule, got=name)
        from simcore.plugins import note  # needed only where something comes from outside

        self._entries[name] = self._admitted(name, lambda: entry)
        note(name, entry)

    def __getitem__(self, name: str) -> T:
        found = self._entries.get(name)
        if isinstance(found, str):
            found = self._entries[name] = cast(T, _object_at(found))
        if found is None:
            found = self._from_outside(name)
        if found is None:
            raise self.unknown(name)
        return found

    def __contains__(self, name: object) -> bool:
        """True if there is a component of this name.

        Raises:
            ConfigError: The name is of the form ``package.module:Object``, and names none.
        """
        if not isinstance(name, str):
            return False
        return name in self._entries or self._from_outside(name) is not None

    def _from_outside(self, name: str) -> T | None:
        if self._adapt is None or ":" not in name:
            return None
        from simcore.plugins import is_outside, load_object

        found = self._outside.get(name)
        if found is None and is_outside(name):
            adapt = self._adapt
            found = self._admitted(name, lambda: adapt(load_object(name)))
            self._outside[name] = found
        return found

    def _admitted(self, name: str, make: Callable[[], T]) -> T:
        """Result of *make*, once it has been checked; both may run code from outside.

        Raises:
            ConfigError: A rule is broken, or that code fails.
        """
        try:
            made = make()
            if self._check is not None:
                self._check(made)
        except ConfigError as error:
            place = f"{name}: {error.at}" if error.at else ""
            rule = error.rule if place else f"{self.what} {error.rule}"
            raise ConfigError(place, rule, got=error.got) from None
        except Exception as error:
            rule = f"{self.what} must answer what is asked of it ({told(error)})"
            raise ConfigError("", rule, got=name) from error
        return made

    def named(self, entry: object) -> str:
        """The name that means *entry*; empty: there is none."""
        everything = [*self.items(), *self._outside.items()]
        return next((name for name, known in everything if known == entry), "")

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[str, T]]:
        return ((name, self[name]) for name in list(self._entries))

    def unknown(self, name: object, *, at: str = "") -> ConfigError:
        """The error for a *name* that is not in the table: lists the choices."""
        rule = f"{self.what} must be one of {', '.join(self._entries)}"
        return ConfigError(at, rule + did_you_mean(name, self._entries), got=name)


def _object_at(place: str) -> object:
    """The object at *place*, ``package.module:Object`` of this product."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def instance_of(base: type[Any]) -> Callable[[object], Any]:
    """Takes an object of *base*, or a class derived from it, of which it makes one."""

    def adapt(found: object) -> Any:
        made = found
        if isinstance(found, type) and issubclass(found, base) and not isabstract(found):
            try:
                made = found()
            except TypeError as error:
                rule = f"must be a class that can be called without arguments ({error})"
                raise ConfigError("", rule, got=found) from None
        if not isinstance(made, base):
            raise ConfigError("", f"must be a {base.__name__}, or a class of it", got=found)
        return made

    return adapt


def class_of(base: type[Any]) -> Callable[[object], Any]:
    """Takes a class derived from *base*."""

    def adapt(found: object) -> Any:
        if isinstance(found, type) and issubclass(found, base) and not isabstract(found):
            return found
        raise ConfigError("", f"must be a class derived from {base.__name__}", got=found)

    return adapt


def has_options(base: type[Any]) -> Callable[[Any], None]:
    """Checks that ``options`` of a component is a class derived from *base*: its keys in files."""

    def check(component: Any) -> None:
        if not (isinstance(component.options, type) and issubclass(component.options, base)):
            rule = f"must name a class derived from {base.__name__} as its options"
            raise ConfigError(type(component).__name__, rule, got=component.options)

    return check


def did_you_mean(name: object, choices: object) -> str:
    """A hint such as `` (did you mean 'ring'?)``, or nothing where no choice is near."""
    from difflib import get_close_matches  # needed only where something is wrong

    names = [str(choice) for choice in choices]  # type: ignore[attr-defined]
    given = str(name)[:_LONGEST_NAME]
    # of h100_80 and p100 the first is meant by h100, though the second has fewer other letters
    whole = [one for one in names if given and one.startswith((f"{given}_", f"{given}-"))]
    # names of files are alike in their ends alone: nope.yaml doesn't mean who_moves.yaml
    ending = PurePath(given).suffix
    ending = ending if any(one.endswith(ending) for one in names) else ""
    stems = {one.removesuffix(ending): one for one in names}
    near = whole or [
        stems[one] for one in get_close_matches(given.removesuffix(ending), stems, n=1)
    ]
    return f" (did you mean {near[0]!r}?)" if near else ""
