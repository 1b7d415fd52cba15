"""Where compiled kernels are kept, and which of them are compiled anew after an edit."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from simcore.kernels import sources

ROOT = Path(__file__).resolve().parents[3]


def folder_chosen(code: str, cache_dir: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SIMCORE_CACHE_DIR": str(cache_dir), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip())


def test_the_chosen_folder_is_used(tmp_path: Path) -> None:
    code = "from simcore.kernels import cache_folder; print(cache_folder())"
    folder = folder_chosen(code, tmp_path)
    assert folder.parent == tmp_path
    assert folder.is_dir()


def test_a_folder_that_cannot_be_written_is_replaced_by_a_temporary_one() -> None:
    code = "from simcore.kernels import cache_folder; print(cache_folder())"
    folder = folder_chosen(code, Path(os.devnull) / "nowhere")
    assert folder.parent.name == "simcore"
    assert os.devnull not in str(folder)


def test_choosing_the_folder_does_not_import_numba() -> None:
    code = "import sys, simcore.kernels; print('numba' in sys.modules)"
    assert str(folder_chosen(code, Path(os.devnull))) == "False"


KERNEL = """
from simcore.kernels.jit import njit
{}

@njit(cache=True)
def {}(number):
    return {}
"""
KERNELS = {
    "inner": KERNEL.format("", "inner", "number + 1"),
    "middle": KERNEL.format(
        "from simcore.kernels.inner import inner", "middle", "2 * inner(number)"
    ),
    "outer": KERNEL.format(
        "from simcore.kernels import (\n    middle as m,\n)", "outer", "m.middle(number)"
    ),
    "beside": KERNEL.format("", "beside", "-number"),
}
CALL = """
from simcore.kernels.beside import beside
from simcore.kernels.outer import outer
from simcore.kernels.inner import inner
for kernel in outer, beside, inner:
    print(kernel(5), sum(kernel.stats.cache_hits.values()))
"""


def checkout(folder: Path) -> Path:
    """A tree that holds no kernels but ``KERNELS``."""
    kernels = folder / "simcore" / "kernels"
    kernels.mkdir(parents=True)
    (folder / "simcore" / "__init__.py").touch()
    for name in ("__init__", "jit", "sources", "private_folder"):
        shutil.copy(ROOT / "simcore" / "kernels" / f"{name}.py", kernels)
    for name, text in KERNELS.items():
        (kernels / f"{name}.py").write_text(text)
    return folder


def call(folder: Path, cache: Path) -> list[str]:
    """Values of the kernels of a tree, each with the number of forms that were found in *cache*."""
    environment = {
        **os.environ,
        "SIMCORE_CACHE_DIR": str(cache),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", CALL]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_equal_sources_share_code_and_an_edit_reaches_all_callers_and_no_other(
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache"
    assert call(checkout(tmp_path / "one"), cache) == ["12 0", "-5 0", "6 0"]
    other = checkout(tmp_path / "other")
    assert call(other, cache) == ["12 1", "-5 1", "6 1"]
    inner = other / "simcore" / "kernels" / "inner.py"
    about = inner.stat()
    inner.write_text(KERNELS["inner"].replace("number + 1", "number + 2"))
    os.utime(inner, ns=(about.st_atime_ns, about.st_mtime_ns))  # as a copy of files may be
    assert call(other, cache) == ["14 0", "-5 1", "7 0"]


LATE_CALL = """
from simcore.kernels.middle import middle
assert middle(5) == 12 and sum(middle.stats.cache_hits.values()) == 1
(compiled,) = middle.overloads.values()
before = len(list(compiled.library._shared_module.functions))
from simcore.kernels.outer import outer
value, hits = outer(5), sum(outer.stats.cache_hits.values())
print(value, hits, before, len(list(compiled.library._shared_module.functions)) > 0)
"""


def test_a_kernel_from_the_cache_is_compiled_into_a_caller_that_is_not_there(
    tmp_path: Path,
) -> None:
    cache, tree = tmp_path / "cache", checkout(tmp_path / "tree")
    call(tree, cache)
    outer = tree / "simcore" / "kernels" / "outer.py"
    outer.write_text(KERNELS["outer"].replace("m.middle(number)", "m.middle(number) + 1"))
    environment = {**os.environ, "SIMCORE_CACHE_DIR": str(cache), "PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", LATE_CALL]
    done = subprocess.run(
        command, env=environment, cwd=tree, capture_output=True, text=True, check=True
    )
    # 2 * (5 + 1) + 1, compiled now; until then nothing was read of the bitcode of what it calls
    assert done.stdout.split() == ["13", "0", "0", "True"]


def test_a_file_leads_to_the_files_of_all_that_its_module_holds() -> None:
    root = Path(sources.__file__).parent
    for path in sorted(set(root.rglob("*.py")) - set(root.rglob("__init__.py"))):
        name = ".".join(path.relative_to(root.parents[1]).with_suffix("").parts)
        module = importlib.import_module(name)
        held = {getattr(value, "__module__", None) or "" for value in vars(module).values()}
        held |= {value.__name__ for value in vars(module).values() if isinstance(value, ModuleType)}
        kernels = {each for each in held if each.startswith("simcore.kernels.")}
        files = {Path(sys.modules[each].__file__ or "") for each in kernels}
        assert files <= sources.closure(path), name


def test_forms_of_older_sources_are_forgotten_but_for_the_newest(tmp_path: Path) -> None:
    code = """
import os, sys
from simcore.kernels import cache_folder, sources
def plant(name, age_s):
    folder = cache_folder() / name
    folder.mkdir()
    os.utime(folder, (folder.stat().st_mtime - age_s,) * 2)
for number in range(6):
    plant(f"heaps-{number:016x}", 90000 - number)
plant("heaps.more-0000000000000000", 90000)
plant("heaps-ffffffffffffffff", 0)
sources.folder_of(sources.kernel_file("heaps"))
print(cache_folder())
"""
    left = {path.name for path in folder_chosen(code, tmp_path).iterdir()}
    mine = f"heaps-{sources.digest(sources.kernel_file('heaps'))}"
    numbered = {"heaps-0000000000000004", "heaps-0000000000000005"}
    assert left == numbered | {"heaps.more-0000000000000000", "heaps-ffffffffffffffff", mine}
