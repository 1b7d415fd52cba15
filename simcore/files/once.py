"""Values of files that are read once in a process, though each study notes that it needs them."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Generic, NamedTuple, ParamSpec, TypeVar

from simcore.files.input_file import files_kept, kept_text, texts_kept

Given = ParamSpec("Given")
Value = TypeVar("Value")


class _Known(NamedTuple, Generic[Value]):
    """A value, and the texts by path that it was made of."""

    texts: dict[str, str]
    value: Value


class _Watched(dict[str, str]):
    """Texts of files, which notes those that are asked for."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__(texts)
        self.asked: dict[str, str] = {}

    def __getitem__(self, path: str) -> str:
        self.asked[path] = text = super().__getitem__(path)
        return text


def read_once(load: Callable[Given, Value]) -> Callable[Given, Value]:
    """*load* that reads each file once, as long as the text that is kept of it is the same.

    Where texts are kept (``files_kept``) a value that is known adds those that it was made of, and
    one that was made of other texts is not used.

    Args:
        load: A function of hashable values.
    """
    known: dict[Hashable, list[_Known[Value]]] = {}

    @wraps(load)
    def found(*given: Given.args, **named: Given.kwargs) -> Value:
        key = (given, tuple(named.items()))
        for one in known.get(key, ()):
            if all(_is_kept_so(path, text) for path, text in one.texts.items()):
                return one.value
        kept = texts_kept()
        watched = _Watched({} if kept is None else kept)
        with files_kept(watched):
            value = load(*given, **named)
        if kept is not None:
            kept.update(watched.asked)
        known.setdefault(key, []).append(_Known(watched.asked, value))
        return value

    return found


def _is_kept_so(path: str, text: str) -> bool:
    """True if *text* is what is kept of the file at *path*, which it is from now on if none was."""
    return kept_text(path, lambda: text) == text
