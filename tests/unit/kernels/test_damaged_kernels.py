"""Compiled kernels that were cut or changed on disk are found before they run, and made anew."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simcore.kernels.native import image_path, prepare
from simcore.kernels.private_folder import is_whole, seal

ROOT = Path(__file__).resolve().parents[3]
NATIVE = """
import sys
import simcore.kernels.native as native, simcore.kernels.native_build as build
build.build = lambda *paths: {"longest_paths": lambda *words: print("compiled") or 0}
native.from_library = lambda path: {"longest_paths": lambda *words: print("library") or 0}
build.from_object = lambda code: {"longest_paths": lambda *words: print("object") or 0}
native.call("longest_paths")
"""
TINY = """
from simcore.kernels.jit import njit

@njit(cache=True)
def triple(number):
    return 3 * number
"""
CALL_TINY = "from tiny import triple; print(triple(5), sum(triple.stats.cache_hits.values()))"


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def empty(content: bytes) -> bytes:
    return b""


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def run(code: str, cache: Path, *folders: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, [ROOT, *folders]))
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SIMCORE_CACHE_DIR": str(cache), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The folder of a cache that holds the library and the object file."""
    prepare()
    code = "from simcore.kernels.native import image_path; print(image_path('.so').parent)"
    printed = run(code, tmp_path).stdout
    folder = Path(printed.strip())
    for suffix in (".so", ".o"):
        (folder / image_path(suffix).name).write_bytes(image_path(suffix).read_bytes())
        (folder / image_path(suffix).name).chmod(0o600)
    return folder


@pytest.mark.parametrize("damage", [cut, empty, flipped])
def test_a_damaged_library_is_left_out_with_one_line(
    damage: Callable[[bytes], bytes], kept: Path
) -> None:
    assert run(NATIVE, kept.parents[1]).stdout == "library\n"
    library = kept / image_path(".so").name
    library.write_bytes(damage(library.read_bytes()))
    done = run(NATIVE, kept.parents[1])
    assert (done.returncode, done.stdout) == (0, "object\n")
    assert run(NATIVE, kept.parents[1]).stdout == "library\n", "linked again"
    assert done.stderr == f"simcore: damaged kernels in {kept} are made anew.\n"


@pytest.mark.parametrize("damage", [cut, empty, flipped])
def test_a_damaged_object_file_is_compiled_anew(
    damage: Callable[[bytes], bytes], kept: Path
) -> None:
    (kept / image_path(".so").name).unlink()
    code = kept / image_path(".o").name
    code.write_bytes(damage(code.read_bytes()))
    done = run(NATIVE, kept.parents[1])
    assert (done.returncode, done.stdout) == (0, "compiled\n")
    assert len(done.stderr.splitlines()) == 1
    assert not code.exists()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one kernel, and beside it the cache that holds its compiled form."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.py").write_text(TINY)
    assert run(CALL_TINY, folder / "kept", folder).stdout == "15 0\n"
    return folder


@pytest.mark.parametrize("damage", [cut, empty, flipped])
def test_a_damaged_file_of_numba_is_compiled_anew(
    damage: Callable[[bytes], bytes], tiny: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny / "kept", tmp_path / "kept")
    (file,) = tmp_path.rglob("tiny.*.nbc")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(damage(file.read_bytes()))
    done = run(CALL_TINY, tmp_path / "kept", tiny)
    assert (done.returncode, done.stdout) == (0, "15 0\n")
    assert len(done.stderr.splitlines()) == 1
    done = run(CALL_TINY, tmp_path / "kept", tiny)
    assert (done.stdout, done.stderr) == ("15 1\n", ""), "what was made anew is kept"


def test_every_bit_of_a_sealed_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"machine code")
    with path.open("r+b") as file:
        seal(file)
    assert is_whole(path)
    content = path.read_bytes()
    assert content.startswith(b"machine code")
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        assert not is_whole(path)
        assert not path.exists()
        path.write_bytes(content)
        path.chmod(0o600)
    assert is_whole(path)


def test_kernels_are_compiled_with_the_cache_that_bears_damage() -> None:
    kernels = (ROOT / "simcore").rglob("*.py")
    direct = [path.name for path in kernels if "from numba import njit" in path.read_text()]
    assert not direct
