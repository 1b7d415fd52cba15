"""Components from outside the product: ``package.module:Object`` in files and calls.

The module is imported as any other, by its name; never from a path that a file gives. It is code,
and runs with the rights of whoever runs the study: so it must not lie where others may write.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError, told
from simcore.kernels.private_folder import danger_above

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_SHIPPED = {"simcore", "dse", *sys.stdlib_module_names}
_noted: dict[str, tuple[object, tuple[str, ...]]] = {}


def is_outside(name: object) -> bool:
    """True if *name* has the form ``package.module:Object``."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def load_object(name: str) -> object:
    """The object that ``package.module:Object`` names.

    Raises:
        ConfigError: There is no such module or object, it cannot be imported, or others than this
            user may write to its file or to that of a package that holds it.
    """
    module_name, _, attribute = name.partition(":")
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise ConfigError("", "must name a module that is not Python's own", got=name)
    for module in accumulate(module_name.split("."), "{}.{}".format):
        _check_place(_run(name, find_spec, module), name)  # before it or what it holds is imported
        _run(name, import_module, module)
    found: object = _run(name, getattr, sys.modules[module_name], attribute, _MISSING)
    if found is _MISSING:
        place = getattr(sys.modules[module_name], "__file__", None) or module_name
        raise ConfigError("", f"must name what {place} defines", got=name)
    note(name, found, module_name)
    return found


_MISSING = object()


def _run(name: str, call: Callable[..., Any], *arguments: object) -> Any:
    """Result of *call*, which runs code of the module that *name* begins with."""
    try:
        return call(*arguments)
    except (Exception, SystemExit) as error:
        rule = f"must name a module that can be imported ({told(error)})"
        raise ConfigError("", rule, got=name) from error


def _check_place(spec: ModuleSpec | None, name: str) -> None:
    """Refuse a module that is not there, or whose code others can change.

    Raises:
        ConfigError: It is refused; says why.
    """
    if spec is None:
        rule = "must name a module on the import path (PYTHONPATH, or an installed package)"
        raise ConfigError("", rule, got=name)
    files = (spec.origin, spec.cached) if spec.has_location else ()
    for text in (*filter(None, files), *(spec.submodule_search_locations or ())):
        place = Path(text).absolute()
        if danger := danger_above(place) or danger_above(place.resolve()):
            raise ConfigError("", f"must name code that nobody else can change: {danger}", got=name)


def note(name: str, component: object, module: str = "") -> None:
    """Keep in mind that results may depend on the sources of *component*.

    Args:
        name: Under which files name it.
        component: A class, an object of one, or a function.
        module: That in which it is bound to its name.
    """
    own = str(getattr(component, "__module__", ""))
    modules = {one for one in (module, own) if one and one.partition(".")[0] not in _SHIPPED}
    if modules:
        _noted[name] = component, tuple(sorted(modules))
        source_digests.cache_clear()


@lru_cache(1)
def source_digests() -> dict[str, str]:
    """Hashes of the sources of all components from outside that were used, by their names.

    Of one in a package, that of all of the package's modules.
    """
    return {name: _digest(*noted) for name, noted in sorted(_noted.items())}


def _digest(component: object, modules: tuple[str, ...]) -> str:
    found = blake2b(digest_size=12)
    files = sorted({file for module in modules for file in _sources(module)})
    for file in files:
        found.update(f"{file.name}\n".encode() + file.read_bytes())
    if files:
        return found.hexdigest()
    try:  # a notebook's cell
        owner = component if hasattr(component, "__qualname__") else type(component)
        return blake2b(inspect.getsource(owner).encode(), digest_size=12).hexdigest()  # type: ignore[arg-type]
    except (OSError, TypeError):
        return "no source"


def _sources(module: str) -> Iterator[Path]:
    """The file of *module*, and all modules of the package that it lies in."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is not None and Path(file).is_file():
        yield Path(file)
    for folder in getattr(sys.modules.get(module.partition(".")[0]), "__path__", ()):
        yield from (path for path in Path(folder).rglob("*.py") if path.is_file())
