"""Damages stores at random, and sees whether anybody is told something wrong.

``python tests/faults/damage.py [--count 1000] [--seed 0]`` prints what became of each kind.
"""

import argparse
import io
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from fault_studies import SLOW_S, kill_driver, run_faulty, same_part, start_driver, stored, wait_for

import dse
from dse.cli.exporting import export_command
from dse.store.errors import StoreError
from simcore import ConfigError

OPTIONS: dict[str, Any] = {"executor": "serial", "seed": 3}
TRIALS, MORE = 80, 90
PAGE = 4096


def make_stores(folder: Path) -> list[Path]:
    """A study that has ended, and one whose driver was killed, with its log."""
    ended, killed = folder / "ended", folder / "killed"
    run_faulty(ended, trials=TRIALS, **OPTIONS)
    os.environ[SLOW_S] = "0.004"
    driver = start_driver(killed, trials=5000, **OPTIONS)
    del os.environ[SLOW_S]
    wait_for(lambda: len(stored(killed)) > TRIALS // 2)
    kill_driver(driver)
    assert (killed / "study.db-wal").stat().st_size > PAGE
    return [ended, killed]


def flip_bit(data: bytearray, random: Random) -> None:
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def flip_header_bit(data: bytearray, random: Random) -> None:
    """Of the first page: header, schema, or the log's header."""
    data[random.randrange(min(len(data), 200))] ^= 1 << random.randrange(8)


def garble(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data))
    part = data[at : at + random.randrange(1, 64)]
    data[at : at + len(part)] = random.randbytes(len(part))


def swap_pages(data: bytearray, random: Random) -> None:
    one, two = (random.randrange(max(len(data) // PAGE, 1)) * PAGE for _ in range(2))
    data[one : one + PAGE], data[two : two + PAGE] = data[two : two + PAGE], data[one : one + PAGE]


def copy_page(data: bytearray, random: Random) -> None:
    one, two = (random.randrange(max(len(data) // PAGE, 1)) * PAGE for _ in range(2))
    data[one : one + PAGE] = data[two : two + PAGE]


def clear_page(data: bytearray, random: Random) -> None:
    at = random.randrange(max(len(data) // PAGE, 1)) * PAGE
    data[at : at + PAGE] = bytes(len(data[at : at + PAGE]))


def cut_off(data: bytearray, random: Random) -> None:
    del data[random.randrange(len(data)) :]


KINDS: dict[str, Callable[[bytearray, Random], None]] = {
    "flipped bit": flip_bit,
    "flipped bit near the start": flip_header_bit,
    "garbled bytes": garble,
    "swapped pages": swap_pages,
    "copied page": copy_page,
    "cleared page": clear_page,
    "cut off": cut_off,
}
BITS = ("flipped bit",)


class Checker:
    """What sound stores say, to be compared with what damaged ones do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores = make_stores(folder)
        self._said = {store: told_by(store) for store in self._stores}
        self._whole = same_part(run_faulty(trials=MORE, **OPTIONS).trials)

    def damage(self, kind: str, random: Random) -> str:
        """Damage a store once, then read, export or resume it.

        Returns:
            ``refused``, or ``same`` where nothing has changed.

        Raises:
            AssertionError: Something else was said, without a word.
        """
        store = random.choice(self._stores)
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store, copy)
        files = [path for path in (copy / "study.db", copy / "study.db-wal") if path.exists()]
        path = random.choice(files)
        data = bytearray(path.read_bytes())
        KINDS[kind](data, random)
        path.write_bytes(data)
        resumes, start_s = random.random() < 0.4, time.monotonic()
        try:
            if resumes:
                again = same_part(run_faulty(copy, trials=MORE, resume=True, **OPTIONS).trials)
                pd.testing.assert_frame_equal(again, self._whole)
                pd.testing.assert_frame_equal(same_part(dse.load_study(copy).trials), self._whole)
            elif kind == "cut off" and path.suffix == ".db-wal":
                # a log that has lost its end is that of a driver that was killed earlier
                said, whole = told_by(copy)[0], self._said[store][0]
                known = whole.loc[whole.number.isin(said.number), said.columns]
                pd.testing.assert_frame_equal(said, known, check_dtype=bool(len(said)))
            else:
                for said, whole in zip(told_by(copy), self._said[store], strict=True):
                    pd.testing.assert_frame_equal(said, whole)
        except (ConfigError, StoreError) as error:
            told = str(error)
        else:
            told = ""
        assert not told or ("study" in told and "\n" not in told), told
        assert time.monotonic() - start_s < 60.0, "it hung"
        return "refused" if told else "same"


def told_by(store: Path) -> list[pd.DataFrame]:
    """All that reading and exporting a study shows."""
    result = dse.load_study(store)
    tables = [
        result.trials,
        result.pareto_front(),
        pd.DataFrame({"study": [str(result.study.file)]}),
    ]
    tables.append(pd.DataFrame({"counts": [str(dict(result.summary))]}))
    for front in (False, True):
        out = store.parent / "export.csv"
        export_command(store, kind="csv", front=front, out=out)
        tables.append(pd.read_csv(io.StringIO(out.read_text())))
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random, found = Random(options.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(Path(folder))
        for kind in KINDS:
            for number in range(options.count if kind in BITS else options.count // 10):
                try:
                    result = checker.damage(kind, random)
                except Exception as error:  # what is looked for
                    result = f"WRONG ({type(error).__name__})"
                    print(f"{kind} {number}: {type(error).__name__}: {str(error)[:400]}")
                found[f"{kind}: {result}"] += 1
    for name, count in sorted(found.items()):
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
