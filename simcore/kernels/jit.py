"""numba's compiler with a cache that bears damage: a file of it that is not whole is left out.

numba writes its cache without syncing it and reads it, as pickles and machine code, without a
check: what a full disk or a power failure has cut ends the process.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import numba
from numba.core.caching import IndexDataCacheFile

from simcore.kernels.private_folder import is_whole, seal

Function = TypeVar("Function", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[Function], Function]:
    """A decorator that compiles a function with *options* of ``numba.njit``."""
    compiled_by_numba: Any = numba.njit(**options)

    def compiled(function: Function) -> Function:
        dispatcher: Any = compiled_by_numba(function)
        cache = getattr(dispatcher, "_cache", None)  # none where numba is told not to compile
        if cache is not None:
            cache._cache_file.__class__ = _SealedCache
        return cast(Function, dispatcher)

    return compiled


_CacheFile: Any = IndexDataCacheFile


class _SealedCache(_CacheFile):  # type: ignore[misc]
    """The files of one function: an index of its compiled forms, and each of them."""

    def _load_index(self) -> Any:
        is_whole(Path(self._index_path))
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        is_whole(Path(self._data_path(name)))
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, path: str) -> Iterator[BinaryIO]:
        with super()._open_for_write(path) as file:
            yield file
            file.flush()
            with open(file.name, "r+b") as written:
                seal(written)
