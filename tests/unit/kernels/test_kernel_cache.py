import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("first", ["simcore.kernels", "numba"])
def test_numba_keeps_kernels_in_the_chosen_folder(first: str, tmp_path: Path) -> None:
    code = f"import {first}, simcore.kernels, numba; print(numba.config.CACHE_DIR)"
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
