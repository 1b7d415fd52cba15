"""Makes machine code of the kernels that Python calls, and loads it where there is no linker."""

import ctypes
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from llvmlite import binding  # type: ignore[import-untyped]

from simcore.kernels.native import PREFIX, Entry, from_library
from simcore.kernels.private_folder import seal

# Only reached where a kernel raises, which none does.
_FOREIGN = ("Py", "_Py", "NRT_", "numba_")
_C_TYPES: dict[str, Any] = {
    "I": ctypes.POINTER(ctypes.c_int64),
    "U": ctypes.POINTER(ctypes.c_uint64),
    "F": ctypes.POINTER(ctypes.c_double),
    "B": ctypes.POINTER(ctypes.c_uint8),
    "H": ctypes.POINTER(ctypes.c_int32),
    "R": ctypes.c_void_p,
}


def build(object_path: Path, library_path: Path) -> Mapping[str, Entry]:
    """Compile all entry points, keep them on disk, and return them.

    They work even where nothing can be kept: then the next process compiles again.
    """
    from numba import cfunc

    from simcore.kernels.native_entries import ENTRIES

    compiled = {
        name: cfunc(_signature(letters))(function) for name, (function, letters) in ENTRIES.items()
    }
    code = _object_code({name: (f.inspect_llvm(), f.native_name) for name, f in compiled.items()})
    if code:
        with suppress(OSError):
            _keep(code, object_path, library_path)
    return {name: _Compiled(function) for name, function in compiled.items()}


class _Compiled:
    """An entry point that numba has just compiled; keeps its code."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64)(function.address)

    def __call__(self, *words: ctypes.c_int64) -> int:
        return int(self._call(*words))


def _signature(letters: str) -> object:
    from numba import types

    pointer: Any = types.CPointer
    addresses = {
        "I": pointer(types.int64),
        "U": pointer(types.uint64),
        "F": pointer(types.float64),
        "B": pointer(types.uint8),
        "H": pointer(types.int32),
        "R": types.voidptr,
    }
    arguments = []
    for letter in letters:
        if letter in addresses:
            arguments.append(addresses[letter])
        arguments.append(types.int64)
    return types.int64(*arguments)


def _object_code(sources: Mapping[str, tuple[str, str]]) -> bytes:
    """One object of all *sources* (LLVM text and entry point by name); empty: it needs more."""
    whole = None
    for name, (text, entry) in sources.items():
        module = binding.parse_assembly(text)
        for function in list(module.functions):
            if function.is_declaration or function.name == entry:
                continue
            function.linkage = binding.Linkage.internal
        module.get_function(entry).name = PREFIX + name
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    assert whole is not None
    stubs = _stubs(whole)
    if stubs is None:
        return b""
    whole.link_in(binding.parse_assembly(stubs))
    machine = binding.Target.from_default_triple().create_target_machine(opt=3, reloc="pic")
    return bytes(machine.emit_object(whole))


def _stubs(module: binding.ModuleRef) -> str | None:
    """Definitions of what only the handling of exceptions calls; None: *module* needs more."""
    lines = [f'target triple = "{module.triple}"', f'target datalayout = "{module.data_layout}"']
    for function in module.functions:
        name = function.name
        if not function.is_declaration or name.startswith("llvm."):
            continue
        if name.startswith(_FOREIGN):
            lines.append(f"define hidden void @{name}() {{ unreachable }}")
        elif binding.address_of_symbol(name) is None:
            return None
    for variable in module.global_variables:
        if variable.is_declaration:
            lines.append(f"@{variable.name} = hidden global i64 0")
    return "\n".join(lines)


def _keep(code: bytes, object_path: Path, library_path: Path) -> None:
    """Write the object, and the library where it can be linked; each whole or not at all."""
    with TemporaryDirectory(dir=object_path.parent) as scratch:
        fresh = Path(scratch) / "fresh.o"
        fresh.write_bytes(code)
        link(fresh, library_path)
        _put(fresh, object_path)


def link(compiled: Path, library_path: Path) -> None:
    """Make a library of an object file, where there is a linker and what it makes can be loaded."""
    linker = which("ld")
    if linker is None:
        return
    with suppress(OSError), TemporaryDirectory(dir=library_path.parent) as scratch:
        linked = Path(scratch) / "linked.so"
        command = [linker, "-shared", "-z", "noexecstack", "-o", str(linked), str(compiled)]
        if run(command, capture_output=True, check=False).returncode == 0:
            from_library(linked)
            _put(linked, library_path)


def _put(fresh: Path, path: Path) -> None:
    with fresh.open("r+b") as file:
        seal(file)
    fresh.replace(path)


class _Object(dict[str, Entry]):
    """Entry points of an object file; keeps the engine that holds its code."""

    def __init__(self, code: bytes) -> None:
        super().__init__()
        machine = binding.Target.from_default_triple().create_target_machine()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def __missing__(self, name: str) -> Entry:
        address = self._engine.get_function_address(PREFIX + name)
        self[name] = ctypes.CFUNCTYPE(ctypes.c_int64)(address)
        return self[name]


def from_object(code: bytes) -> Mapping[str, Entry]:
    """The entry points of an object file, loaded by LLVM."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return _Object(code)


def interpreted() -> Mapping[str, Entry]:
    """The entry points as Python runs them, where numba is told not to compile."""
    from simcore.kernels.native_entries import ENTRIES

    return {name: _Interpreted(function, letters) for name, (function, letters) in ENTRIES.items()}


class _Interpreted:
    """One kernel in Python; takes addresses as its compiled form does."""

    def __init__(self, function: Entry, letters: str) -> None:
        self._function, self._letters = function, letters

    def __call__(self, *words: ctypes.c_int64) -> int:
        rest = iter(words)
        arguments: list[Any] = []
        for letter in self._letters:
            value = next(rest).value
            if letter in _C_TYPES:
                arguments.append(ctypes.cast(value, _C_TYPES[letter]))
                value = next(rest).value
            arguments.append(value)
        with np.errstate(over="ignore"):  # hashes wrap around, as compiled
            return int(self._function(*arguments))
