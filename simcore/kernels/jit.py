"""numba's compiler with a cache of our own: it notices every edit that matters, and bears damage.

numba's own notices edits of the file of a kernel but not of those that it calls, keeps an index
that processes which compile at once overwrite for each other, and reads its files, which are
pickles and machine code, without a check: what a full disk or a power failure has cut ends the
process.
"""

import pickle
from collections.abc import Callable
from functools import cache, partial
from importlib.util import source_hash
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import numba
from numba.core import codegen
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from simcore.kernels.private_folder import is_whole, seal
from simcore.kernels.sources import folder_of

Function = TypeVar("Function", bound=Callable[..., Any])
_njit: Any = numba.njit  # its stub knows not all of its options


def njit(*, makes_arrays: bool = True, **options: Any) -> Callable[[Function], Function]:
    """A decorator that compiles a function with *options* of ``numba.njit``, and keeps the code.

    It makes no entry for C, which numba adds to every function: none is passed as a value, and it
    takes an eighth of the time of compilation.

    Args:
        makes_arrays: False where neither the function nor what it calls makes an array or returns
            one. It then counts no references to arrays that it is given, which takes longer than
            to read a few numbers: each count is one that all cores agree on.
        options: Those of numba.
    """
    if not makes_arrays:
        options["_nrt"] = False
    compiled_by_numba: Any = _njit(no_cfunc_wrapper=True, **options)

    def compiled(function: Function) -> Function:
        dispatcher: Any = compiled_by_numba(function)
        if dispatcher is not function:  # as it is where numba is told not to compile
            dispatcher._cache = _Cache(function)
        return cast(Function, dispatcher)

    return compiled


def leaf(function: Function) -> Function:
    """Compile a small function that makes no arrays into those that call it.

    To hand over a table of twenty arrays takes many times as long as to read two numbers from it.
    """
    return njit(cache=True, forceinline=True, makes_arrays=False)(function)


def load_compiler() -> None:
    """Load what numba needs to call any kernel, which its first call does otherwise.

    It takes longer than to load a kernel; processes forked thereafter have it.
    """
    target: Any = cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()


_Locator: Any = _CacheLocator
_Impl: Any = CompileResultCacheImpl
_FunctionCache: Any = FunctionCache
_dumps: Any = dumps
_codegen: Any = codegen
_config: Any = numba.config


class _SourceLocator(_Locator):  # type: ignore[misc]
    """A function's place in the cache: by its file's sources, and its line there."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file  # numba names it in warnings
        self._line = function.__code__.co_firstlineno
        self._folder = folder_of(Path(file))

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_SourceLocator | None":
        return cls(function, file) if Path(file).is_file() else None

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)


class _SourceImpl(_Impl):  # type: ignore[misc]
    _locator_classes = (_SourceLocator,)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The compiled function that was saved; its bitcode is read once a caller is compiled.

        That is for calls to be compiled into callers, and takes a third of the time of loading.
        """
        (name, kind, data), what, *others = payload
        engine = target_context.codegen()._engine
        if kind != "object" or not hasattr(engine, "_defined_symbols"):
            return super().rebuild(target_context, payload)
        code, bitcode = data
        engine._defined_symbols |= {what.llvm_func_name, what.llvm_cpython_wrapper_name}
        library = name, kind, (code, _no_bitcode())
        found = super().rebuild(target_context, (library, what, *others))
        found.library._get_module_for_linking = partial(_read_late, found.library, bitcode)
        return found


def _read_late(library: Any, bitcode: bytes) -> Any:
    """The module of a *library* from the cache, for other libraries to be linked with."""
    del library._get_module_for_linking  # numba's own finds the module from now on
    library._shared_module = _codegen.ll.parse_bitcode(bitcode)
    library.codegen._engine._load_defined_symbols(library._shared_module)
    return library._shared_module


@cache
def _no_bitcode() -> bytes:
    """Bitcode of a module with nothing in it."""
    return cast(bytes, _codegen.ll.parse_assembly("").as_bitcode())


class _Cache(_FunctionCache):  # type: ignore[misc]
    """Compiled forms of one function, one for each set of types and processor."""

    _impl_class = _SourceImpl

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _SealedFiles(Path(self.cache_path), self._impl.filename_base)

    def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        # code that calls a library of vector functions runs only where that is installed
        return (*super()._index_key(signature, codegen), _config.USING_SVML)


class _SealedFiles:
    """The files of one function: each is a compiled form with its key, and named after that key."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def load(self, key: object) -> Any:
        path = self._path(key)
        if not is_whole(path):
            return None
        found, compiled = pickle.loads(path.read_bytes())
        return compiled if found == key else None

    def save(self, key: object, compiled: object) -> None:
        with TemporaryDirectory(dir=self._folder) as scratch:  # whole or not at all
            fresh = Path(scratch) / "fresh"
            fresh.write_bytes(_dumps((key, compiled)))
            with fresh.open("r+b") as file:
                seal(file)
            fresh.replace(self._path(key))

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: object) -> Path:
        return self._folder / f"{self._name}.{source_hash(repr(key).encode()).hex()}.nbc"
