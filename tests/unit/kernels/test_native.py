"""Kernels as machine code on disk: built once, loaded without the compiler, alike everywhere."""

import os
import subprocess
import sys
from ctypes import c_int64
from pathlib import Path

import numpy as np

from simcore.kernels.native import call, image_path, is_compiled
from simcore.kernels.native_build import from_object, interpreted

ROOT = Path(__file__).resolve().parents[3]
DEP_START = np.array([0, 0, 1, 2], np.int64)
DEP = np.array([0, 1], np.int32)
WEIGHT = np.array([5, 7, 11], np.int64)
CODE = """
import sys, numpy as np
from simcore.kernels.native import call
end, scratch = np.empty(3, np.int64), np.empty(15, np.int64)
start, dep = np.array([0, 0, 1, 2], np.int64), np.array([0, 1], np.int32)
call("longest_paths", start, dep, np.array([5, 7, 11], np.int64), end, scratch)
print(end.tolist(), "numba" in sys.modules)
"""


def longest_paths() -> list[int]:
    end, scratch = np.empty(3, np.int64), np.empty(15, np.int64)
    call("longest_paths", DEP_START, DEP, WEIGHT, end, scratch)
    return end.tolist()


def test_a_compiled_kernel_runs_in_a_new_process_without_numba() -> None:
    assert longest_paths() == [5, 12, 23]
    assert is_compiled()
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[5, 12, 23] False"


def test_without_a_linker_llvm_loads_the_object_file() -> None:
    longest_paths()
    entries = from_object(image_path(".o").read_bytes())
    end, scratch = np.empty(3, np.int64), np.empty(15, np.int64)
    words = []
    for array in (DEP_START, DEP, WEIGHT, end, scratch):
        words += [array.ctypes.data, array.size]
    entries["longest_paths"](*map(c_int64, words))
    assert end.tolist() == [5, 12, 23]


def test_python_can_run_the_kernels_where_compiling_is_off() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        env=environment,
    )
    assert done.stdout.startswith("[5, 12, 23]")
    assert set(interpreted()) >= {"run_events", "decode_nodes", "find_frames"}
