"""A study whose evaluator misbehaves on command, in real processes."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import import_module
from math import inf
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pandas as pd
from warm_drivers import SERVE, Server, WarmDriver, serve

import dse
from dse.cli.errors import told_plainly
from dse.evaluate import EVALUATORS, Crew, EvaluatorInput, start_crew
from dse.evaluate.base import Account
from dse.evaluate.closed_forms.evaluators import Model0Evaluator
from dse.run.islands.host import IslandInput
from dse.space import Design, design_key
from dse.store.packed import unpack_rows
from dse.store.rows import end_of
from dse.study.compile import load_study_file

STUDY = "p5_vit22b_64.yaml"
P5 = Path(load_study_file(STUDY).folder, STUDY)

SLOW_S = "DSE_TEST_SLOW_S"
POISON = "DSE_TEST_POISON"
MANY = "DSE_TEST_MANY"
"""Environment: time per evaluation; what every seventh design does, see ``Faulty``; whether workers
evaluate whole chunks at once."""


class Faulty(Model0Evaluator):
    """The closed form, slowed down, with designs that end, stop, fill or confuse their worker."""

    def account(self, design: Design) -> Account:
        time.sleep(float(os.environ.get(SLOW_S, "0")))
        kind = os.environ.get(POISON, "")
        metrics = dict(super().account(design).metrics)
        if kind and is_poisoned(design):
            return Account(_misbehave(kind, metrics))
        return Account(metrics)


def is_poisoned(design: Design) -> bool:
    """Whether a design is one of the few that misbehave."""
    return sum(design_key(design).encode()) % 29 == 0


def _misbehave(kind: str, metrics: dict[str, float]) -> Mapping[str, float]:
    if kind == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif kind == "hang":
        time.sleep(3600)
    elif kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "memory":
        return {"x": float(len(bytearray(1 << 40)))}
    elif kind == "raise":
        raise ValueError(f"no result at {time.time_ns()}")
    elif kind == "nan":
        metrics["iteration_time_s"] = float("nan")
    return metrics


def same_part(frame: pd.DataFrame) -> pd.DataFrame:
    """What the same seed must give, whatever happened on the way."""
    kept = ("number", "state", "params.", "objectives.", "constraints.", "metrics.")
    return frame[[name for name in frame if str(name).startswith(kept)]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyInput(EvaluatorInput):
    """Unpickling it brings the evaluator into the worker."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrive, ({field.name: getattr(self, field.name) for field in fields(self)},)


def _arrive(values: dict[str, Any]) -> FaultyInput:
    Faulty.takes_many = bool(os.environ.get(MANY))
    EVALUATORS._entries["faulty"] = Faulty
    return FaultyInput(**values)


def start_faulty_crew(name: str, what: EvaluatorInput | IslandInput, **options: Any) -> Crew:
    """A crew of workers that misbehave."""
    options["limits"] = replace(options["limits"], first_s=5.0, load_s=1.0)
    if isinstance(what, IslandInput):
        return start_crew(name, replace(what, evaluator=_faulty(what.evaluator)), **options)
    return start_crew(name, _faulty(what), **options)


def _faulty(what: EvaluatorInput) -> FaultyInput:
    values = {field.name: getattr(what, field.name) for field in fields(what)}
    return FaultyInput(**{**values, "name": "faulty"})


def run_faulty(out: Path | None = None, **options: Any) -> dse.StudyResult:
    """``dse.run_study`` with workers that misbehave."""
    faulty = patch.dict(EVALUATORS._entries, {"faulty": Faulty})
    with faulty, patch("dse.run.runner.start_crew", start_faulty_crew):
        return dse.run_study(STUDY, out=out, **{"sampler": "random", **options})


def run_faulty_command(out: Path, *, resume: bool = False, **overrides: Any) -> None:
    """``dse study`` with workers that misbehave."""
    from dse.cli.running import run_command

    faulty = patch.dict(EVALUATORS._entries, {"faulty": Faulty})
    chosen = {"sampler": "random", **overrides}
    with faulty, patch("dse.run.runner.start_crew", start_faulty_crew), told_plainly():
        run_command(STUDY, out=out, resume=resume, quiet=True, timeout_s=None, overrides=chosen)


def start_driver(out: Path, **options: Any) -> WarmDriver:
    """``run_faulty`` in a process of its own."""
    return _server().start(("run_faulty", str(out), options), _environment())


def start_command(out: Path, **options: Any) -> WarmDriver:
    """``run_faulty_command`` in a process of its own, with Ctrl-C as in a terminal."""
    return _server().start(("run_faulty_command", str(out), options), _environment())


@cache
def _server() -> Server:
    return Server(__file__, _environment())


def start_cold_driver(out: Path, **options: Any) -> "subprocess.Popen[str]":
    """``run_faulty`` in a process that has to import everything, as a user's has."""
    return subprocess.Popen(
        [sys.executable, __file__, "run_faulty", str(out), json.dumps(options)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return {**os.environ, "PYTHONPATH": path}


def stored(folder: Path) -> dict[int, float]:
    """When each trial of the store was finished, by number."""
    if not (folder / "study.db").exists():
        return {}
    with closing(sqlite3.connect(f"file:{folder / 'study.db'}?mode=ro", uri=True)) as store:
        try:
            store.execute("BEGIN")
            rows = store.execute("SELECT number, finished_unix_s FROM trial").fetchall()
            packed = store.execute("SELECT * FROM packed").fetchall()
        except sqlite3.OperationalError:  # its tables are not there yet
            return {}
    return {row[1]: end_of(row) for row in unpack_rows(packed)} | dict(rows)


def parents_of_processes() -> dict[int, int]:
    """The parent of every process of this machine."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):  # it has just ended
            continue
    return parents


def descendants(pid: int) -> list[int]:
    """All processes below a process."""
    parents = parents_of_processes()
    ours, size = {pid}, 0
    while len(ours) > size:
        size = len(ours)
        ours |= {child for child, parent in parents.items() if parent in ours}
    return sorted(ours - {pid})


def workers_of(pid: int) -> list[int]:
    """Worker processes of a driver: forks of its server, or actors of a Ray that it started."""
    words = {}
    for own in descendants(pid):
        with suppress(OSError):
            words[own] = Path(f"/proc/{own}/cmdline").read_bytes()
    servers = {own for own, said in words.items() if b"forkserver" in said}
    parents = parents_of_processes()
    return [
        own
        for own, said in words.items()
        if parents.get(own) in servers or said.startswith(b"ray::Actor")
    ]


def kill_driver(process: "WarmDriver | subprocess.Popen[str]") -> None:
    """SIGKILL, as the machine's own out-of-memory killer would."""
    process.kill()
    process.communicate()


def kill_drivers_until_done(
    out: Path,
    kills: int,
    random: Random,
    *,
    limit_s: float = inf,
    start: "Callable[..., WarmDriver | subprocess.Popen[str]]" = start_driver,
    **options: Any,
) -> list[float]:
    """Run a study, its driver killed *kills* times at random instants, then to its end.

    After *limit_s* no more are killed.

    Returns:
        How long each restarted driver took to store its first new trial, s.
    """
    recoveries: list[float] = []
    end_s = time.monotonic() + limit_s
    for kill in range(kills):
        if time.monotonic() > end_s:
            break
        known, start_s = set(stored(out)), time.monotonic()
        process = start(out, resume=kill > 0 and bool(known), **options)
        has_news = wait_for(
            lambda k=known, p=process: set(stored(out)) - k or p.poll() is not None, 120
        )
        if process.poll() is not None:
            _, told = process.communicate()
            assert process.returncode == 0, told
            break
        assert has_news
        recoveries.append(time.monotonic() - start_s)
        time.sleep(random.random() * 0.3)
        before = stored(out)
        kill_driver(process)
        after = stored(out)
        assert before.items() <= after.items(), "a finished result was lost or written twice"
    process = start(out, resume=True, **options)
    _, told = process.communicate(timeout=600)
    assert process.returncode == 0, told
    return recoveries


@contextmanager
def two_nodes() -> Iterator[tuple[Any, Any]]:
    """A Ray cluster on this machine: it, and its second node of two CPUs beside a head of one."""
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    made: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        yield made, made.add_node(num_cpus=2)
    finally:
        made.shutdown()


def wait_for(done: Any, limit_s: float = 60.0) -> Any:
    """What *done* returns once that is true."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if found := done():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{done} did not come true in {limit_s} s")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import fault_studies  # under the name by which workers find it

    if sys.argv[1] == SERVE:
        import_module("dse.evaluate.workers.preloaded")
        for name in ("dse.run.runner", "dse.cli.running", "plotly.graph_objects"):
            import_module(name)
        job = serve(int(sys.argv[2]))
    else:
        job = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    if job is not None:
        name, out, options = job
        getattr(fault_studies, name)(Path(out), **options)
