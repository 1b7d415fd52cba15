"""Benchmarks load: what they import from the packages and from the tests is where they look."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_LOAD_ALL = """
import runpy, sys
from pathlib import Path

import dse, simcore

root, failed, before = Path(sys.argv[1]), [], list(sys.path)
for path in sorted(root.rglob("*.py")):
    kept = set(sys.modules)
    sys.path[:] = [str(path.parent), *before]
    try:
        runpy.run_path(str(path), run_name="loaded")
    except (ImportError, NameError) as error:
        failed.append(f"{path.relative_to(root)}: {error}")
    for name in set(sys.modules) - kept:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith((str(root), str(root.parent / "tests"))):
            del sys.modules[name]
sys.exit("\\n".join(failed) or None)
"""


def test_every_benchmark_loads() -> None:
    words = [sys.executable, "-c", _LOAD_ALL, str(ROOT / "benchmarks")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_tests_that_benchmarks_of_equal_answers_ask_load() -> None:
    words = "import answers, bounds, random_systems, test_astra_cases"
    command = [sys.executable, "-c", words]
    equal = ROOT / "benchmarks" / "equal"
    done = subprocess.run(command, cwd=equal, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
