"""Hashes of the answers of a tree and its CPU seconds, held against those of another one.

    python benchmarks/equal write FILE [--part NAME ...] [--trials 200]
    python benchmarks/equal compare FILE [FILE]
    python benchmarks/equal ratios --against CHECKOUT [--benchmark NAME ...] [--times 5]

``write`` works out every answer and writes a hash of each; ``compare`` holds two such files against
each other, by default with the one that is kept beside this program. What may differ is listed in
``expected.json`` with the reason; any other difference ends with exit code 1. ``ratios`` runs
benchmarks with both trees in turns and prints the other one's CPU seconds over those of this one,
by the median; a ratio below 0.97 ends with exit code 1.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from answers import PARTS, Settings
from ratios import BENCHMARKS, ratios

HERE = Path(__file__).parent
KEPT, EXPECTED = HERE / "kept.json", HERE / "expected.json"


def write(path: Path, parts: list[str], settings: Settings) -> None:
    """Write the hashes of *parts*; those of other parts that stand in the file stay."""
    known = json.loads(path.read_text()) if path.is_file() else {}
    for part in parts:
        begin = time.process_time()
        known[part] = dict(PARTS[part](settings))
        spent_s = time.process_time() - begin
        print(f"{part:10} {len(known[part]):5} answers {spent_s:8.1f} CPU s", flush=True)
        path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def compare(ours: Path, kept: Path) -> int:
    """Print every answer that differs; returns how many of these nobody expected."""
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.is_file() else {}
    mine, theirs = json.loads(ours.read_text()), json.loads(kept.read_text())
    unexpected = 0
    for part in sorted({*mine, *theirs}):
        if part not in mine or part not in theirs:
            print(f"{part}: in one file alone")
            continue
        a, b = mine[part], theirs[part]
        changed = [item for item in sorted({*a, *b}) if a.get(item) != b.get(item)]
        for item in changed:
            reason = expected.get(part, {}).get(item)
            unexpected += reason is None
            print(f"{part} {item}: {reason or 'DIFFERS'}")
        print(f"{part}: {len({*a, *b}) - len(changed)} of {len({*a, *b})} equal")
    return unexpected


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("file", type=Path)
    writing.add_argument("--part", action="append", choices=list(PARTS), dest="parts")
    writing.add_argument("--trials", type=int, default=200)
    comparing = commands.add_parser("compare")
    comparing.add_argument("file", type=Path)
    comparing.add_argument("kept", type=Path, nargs="?", default=KEPT)
    timing = commands.add_parser("ratios")
    timing.add_argument("--against", type=Path, required=True, metavar="CHECKOUT")
    timing.add_argument("--benchmark", action="append", choices=list(BENCHMARKS), dest="names")
    timing.add_argument("--times", type=int, default=5, help="of either tree, in turns")
    given = parser.parse_args()
    if given.command == "ratios":
        with tempfile.TemporaryDirectory() as scratch:
            names = given.names or list(BENCHMARKS)
            sys.exit(ratios(given.against, Path(scratch), names, given.times) > 0)
    if given.command == "compare":
        sys.exit(compare(given.file, given.kept) > 0)
    write(given.file, given.parts or list(PARTS), Settings(trials=given.trials))


if __name__ == "__main__":
    main()
