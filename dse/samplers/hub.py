"""Samplers of OptunaHub: packages of a registry, which are code from elsewhere.

A study file cannot make anyone's machine fetch or run them: whoever runs the study says where they
come from, by the environment variable ``DSE_OPTUNAHUB``.
"""

import importlib.util
import os
import re
import sys
from functools import lru_cache
from importlib.machinery import ModuleSpec
from itertools import accumulate
from pathlib import Path
from types import ModuleType

from simcore import ConfigError

VARIABLE, FETCH = "DSE_OPTUNAHUB", "fetch"
"""The variable: a folder of packages (``package`` of a checkout of a registry), or this word, with
which ``optunahub`` fetches them from its registry and keeps them."""

_NAME = re.compile(r"optunahub:(?P<package>[a-z]\w*(/[A-Za-z_]\w*)+):(?P<object>[A-Za-z_]\w*)")


def is_of_hub(name: str) -> bool:
    """True if *name* begins as those of OptunaHub do."""
    return name.startswith("optunahub:")


@lru_cache
def hub_module(name: str) -> str:
    """Load a package; the name, as ``package.module:Class``, of what *name* means.

    Raises:
        ConfigError: The name has another form, or the package cannot be had.
    """
    parts = _NAME.fullmatch(name)
    if parts is None:
        rule = "must be such as optunahub:samplers/PACKAGE:CLASS"
        raise ConfigError("search.sampler", rule, got=name)
    source = os.environ.get(VARIABLE, "")
    if not source or importlib.util.find_spec("optunahub") is None:
        rule = f"needs the package optunahub, and the environment variable {VARIABLE}: a folder "
        rule += f"of packages, or the word {FETCH}, which has optunahub fetch and run them"
        raise ConfigError("search.sampler", f"{name} {rule}", got=source or "no variable")
    package = parts["package"]
    module = _loaded(package, source)
    _place(module, Path(str(module.__file__)).parent)
    return f"{module.__name__}:{parts['object']}"


def _loaded(package: str, source: str) -> ModuleType:
    import optunahub

    try:
        if source == FETCH:
            found: ModuleType = optunahub.load_module(package)
        else:
            found = optunahub.load_local_module(package, registry_root=source)
    except (ImportError, OSError) as error:
        rule = f"must be a package in {source} ({error})"
        raise ConfigError("search.sampler", rule, got=package) from None
    return found


def _place(module: ModuleType, folder: Path) -> None:
    """Make *module* one that can be imported by its name, like any component from outside."""
    for name in list(accumulate(module.__name__.split("."), "{}.{}".format))[:-1]:
        parent = sys.modules.setdefault(name, ModuleType(name))
        parent.__spec__ = ModuleSpec(name, None, is_package=True)
        parent.__path__ = [str(folder)]
