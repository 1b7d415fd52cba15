"""Components from outside the product: ``package.module:Object`` in files and calls.

The module is imported as any other, by its name; never from a path that a file gives. It is code,
and runs with the rights of whoever runs the study: so it must not lie where others may write.
"""

import inspect
import re
import sys
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from simcore.errors import ConfigError
from simcore.kernels.private_folder import danger_above

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_MOST_FILES = 1000
_noted: dict[str, object] = {}


def is_outside(name: object) -> bool:
    """Whether *name* has the form ``package.module:Object``."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def load_object(name: str) -> object:
    """The object that ``package.module:Object`` names.

    Raises:
        ConfigError: There is no such module or object, it cannot be imported, or others than this
            user may write to its file.
    """
    module_name, _, attribute = name.partition(":")
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise ConfigError("", "must name a module that is not Python's own", got=name)
    try:
        spec = find_spec(module_name)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        rule = "must name a module on the import path (PYTHONPATH, or an installed package)"
        raise ConfigError("", rule, got=name)
    _check_place(Path(spec.origin), name)
    try:
        found = getattr(import_module(module_name), attribute)
    except AttributeError:
        raise ConfigError("", f"must name what {spec.origin} defines", got=name) from None
    except Exception as error:
        rule = f"must name a module that can be imported ({type(error).__name__}: {error})"
        raise ConfigError("", rule, got=name) from error
    note(name, found)
    return found


def _check_place(file: Path, name: str) -> None:
    danger = danger_above(file.resolve())
    if danger:
        raise ConfigError("", f"must name code that nobody else can change: {danger}", got=name)


def note(name: str, component: object) -> None:
    """Keep in mind that results may depend on the source of *component*."""
    owner = component if isinstance(component, type) else type(component)
    if owner.__module__.partition(".")[0] not in ("simcore", "dse"):
        _noted[name] = owner
        source_digests.cache_clear()


@lru_cache(1)
def source_digests() -> dict[str, str]:
    """Hashes of the sources of all components from outside that were used, by their names.

    Of one in a package, that of all of the package's modules.
    """
    return {name: _digest(owner) for name, owner in sorted(_noted.items())}


def _digest(owner: object) -> str:
    found = blake2b(digest_size=12)
    module = sys.modules.get(str(getattr(owner, "__module__", "")))
    file = getattr(module, "__file__", None)
    if file is None:  # a notebook's cell
        try:
            found.update(inspect.getsource(owner).encode())  # type: ignore[arg-type]
        except (OSError, TypeError):
            return "no source"
        return found.hexdigest()
    files = [Path(file)]
    if module is not None and "." in module.__name__:
        top = sys.modules.get(module.__name__.partition(".")[0])
        for folder in getattr(top, "__path__", ()):
            files += sorted(Path(folder).rglob("*.py"))[:_MOST_FILES]
    for path in sorted(set(files)):
        found.update(path.read_bytes())
    return found.hexdigest()
