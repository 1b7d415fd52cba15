"""Lines that tests have run, by package: reads the file that ``coverage json`` writes.

    python .ci/covered.py coverage.json [--least 0]

Of kernels the compiler hides the lines: they count where ``NUMBA_DISABLE_JIT=1`` was set. Lines
that run in other processes (workers, commands that a test starts) do not count. Exits with 1 where
a package is below *least* per cent.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path, PurePath


def by_package(files: dict[str, dict[str, dict[str, int]]]) -> dict[str, tuple[int, int]]:
    """Lines with code and those of them that ran, of each part of simcore and dse."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in files.items():
        package, part, *inner = PurePath(name).parts
        for key in (f"{package}/{part}" if inner else f"{package}/*.py", package):
            found[key][0] += file["summary"]["num_statements"]
            found[key][1] += file["summary"]["covered_lines"]
    return {key: (lines, ran) for key, (lines, ran) in sorted(found.items()) if lines}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--least", type=float, default=0.0, help="per cent of every package")
    given = parser.parse_args()
    packages = by_package(json.loads(given.file.read_text())["files"])
    print(f"{'package':24} {'lines':>7} {'ran':>7} {'%':>6}")
    for name, (lines, ran) in packages.items():
        print(f"{name:24} {lines:7} {ran:7} {100 * ran / lines:6.1f}")
    low = [name for name, (lines, ran) in packages.items() if 100 * ran < given.least * lines]
    if low:
        sys.exit(f"below {given.least} %: {', '.join(low)}")


if __name__ == "__main__":
    main()
