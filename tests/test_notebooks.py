"""The notebooks of the documentation show what the code does."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
MOST_BYTES = 200_000


def _runner() -> ModuleType:
    spec = spec_from_file_location("run_notebooks", DOCS / "run_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_two_that_are_small() -> None:
    assert len(NOTEBOOKS) >= 2
    assert all(path.stat().st_size < MOST_BYTES for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_run_again_shows_what_it_shows(path: Path) -> None:
    assert _runner().executed(path) == path.read_text(encoding="utf-8"), (
        "write them anew: python docs/run_notebooks.py"
    )
