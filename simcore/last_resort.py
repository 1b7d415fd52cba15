"""The end of a command that nothing else explains: a sentence, an exit code, a report."""

import os
import sys

EXIT_BROKEN, EXIT_FAULT = 1, 70
"""The machine lacks something; the program itself is at fault (``EX_SOFTWARE``)."""

_LIBRARIES = ("numpy", "numba", "llvmlite", "pydantic", "pyyaml", "optuna", "pyarrow", "ray")


def last_words(error: BaseException, program: str) -> tuple[str, int]:
    """The sentence and the exit code for an *error* that *program* did not foresee."""
    if isinstance(error, MemoryError):
        told = str(error) or "this needs more memory than there is; allow more, or ask for less"
        return f"{told}.", EXIT_BROKEN
    if isinstance(error, OSError) and not isinstance(error, ImportError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"{place}{error.strerror or error}.", EXIT_BROKEN
    if isinstance(error, ImportError):
        what = "a library could not be loaded: is it installed, and is the memory limited (ulimit)"
    else:
        what = "the program met a fault of its own; your files need not be at fault"
    kind = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return f"{what} ({kind}). {_where(error, program)}", EXIT_FAULT


def _where(error: BaseException, program: str) -> str:
    """Writes the report, and says where it is."""
    text = _report(error)
    for folder in (None, os.curdir):
        if path := _private_file(text, program, folder):
            return f"What happened is written to {path}; please send it with your report."
    return "What happened could not be written to any file."


def _private_file(text: str, program: str, folder: str | None) -> str:
    """A new file with *text* that nobody else can read; empty where it cannot be written."""
    try:
        from tempfile import mkstemp

        descriptor, path = mkstemp(prefix=f"{program}-fault-", suffix=".txt", dir=folder)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return ""
    return os.path.abspath(path)


def _report(error: BaseException) -> str:
    try:
        from traceback import format_exception

        told = "".join(format_exception(error))
    except (ImportError, MemoryError, RecursionError):
        told = f"{type(error).__name__}: {error}\n"
    command = " ".join(map(repr, sys.argv))
    return f"command: {command}\npython: {sys.version}\n{_versions()}\n{told}"


def _versions() -> str:
    try:
        from importlib.metadata import PackageNotFoundError, version

        lines = []
        for name in ("simcore-dse", *_LIBRARIES):
            try:
                lines.append(f"{name}: {version(name)}\n")
            except PackageNotFoundError:
                lines.append(f"{name}: not installed\n")
        return "".join(lines)
    except (ImportError, MemoryError):
        return ""
