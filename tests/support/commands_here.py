"""Commands run inside this process, for what is not about processes: their start takes seconds."""

import os
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from importlib import invalidate_caches
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

from dse.__main__ import main as dse_main
from simcore import plugins
from simcore.__main__ import main as simcore_main
from simcore.registry import Registry

MAINS = {"dse": dse_main, "simcore": simcore_main}


def run_here(folder: Path, *words: str) -> "CompletedProcess[str]":
    """``python -m WORDS`` in *folder*, from which it imports."""
    out, err = StringIO(), StringIO()
    code = 0
    told = redirect_stdout(out), redirect_stderr(err)
    with _as_started_in(folder), patch.object(sys, "argv", list(words)), told[0], told[1]:
        try:
            MAINS[words[0]]()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
    return CompletedProcess(words, code, out.getvalue(), err.getvalue())


@contextmanager
def _as_started_in(folder: Path) -> Iterator[None]:
    """In *folder*, with none of its modules imported, before and after."""
    known, noted = set(sys.modules), dict(plugins._noted)
    invalidate_caches()
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with (
        chdir(folder),
        patch.object(sys, "path", [str(folder), *sys.path]),
        patch.dict(os.environ, {"PYTHONPATH": path}),
    ):
        try:
            yield
        finally:
            for name in set(sys.modules) - known:
                if _lies_in(folder, name):
                    del sys.modules[name]
            for registry in _registries():
                registry._outside.clear()
            plugins._noted.clear()
            plugins._noted.update(noted)
            plugins.source_digests.cache_clear()


def _registries() -> Iterator[Registry[Any]]:
    """Those of the packages: to look for them among all objects takes as long as many a command."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in MAINS:
            yield from (one for one in vars(module).values() if isinstance(one, Registry))


def _lies_in(folder: Path, name: str) -> bool:
    module = sys.modules[name]
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return any(Path(place).is_relative_to(folder) for place in places if place)
