"""Files that are read once: what was read stays what it was, whatever becomes of the file."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TEXTS: ContextVar[dict[str, str] | None] = ContextVar("texts of files", default=None)


@contextmanager
def files_kept(texts: dict[str, str]) -> Iterator[None]:
    """Read no file whose text is kept; keep the text of every other one that is read.

    Args:
        texts: Texts by absolute path; grows by what is read.
    """
    token = _TEXTS.set(texts)
    try:
        yield
    finally:
        _TEXTS.reset(token)


def kept_text(path: str | os.PathLike[str], read: Callable[[], str]) -> str:
    """The text of the file at *path*: what is kept of it, or what *read* gives."""
    texts = _TEXTS.get()
    if texts is None:
        return read()
    place = os.path.abspath(path)
    if place not in texts:
        texts[place] = read()
    return texts[place]


def is_kept(path: str | os.PathLike[str]) -> bool:
    """Whether the text of the file at *path* is kept, so that there need be no file any more."""
    texts = _TEXTS.get()
    return texts is not None and os.path.abspath(path) in texts
