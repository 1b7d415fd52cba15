"""Every answer that must not change when the code is put in another order, each with a hash.

They are asked through commands and public names as far as these reach, so that two trees with
other insides can be compared.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT.parent / "shared" / "golden" / "astra"
_WITH_TESTS = ("", "benchmarks", "tests/property", "tests/golden", "tests/support")
sys.path[:0] = [str(ROOT / part) for part in _WITH_TESTS]

_SYSTEMS = 3_000
_DESIGNS = 500
_SEEDS, _WORKERS = (0, 1), (1, 2)
_PROVEN = (
    "p1_cosmic_1024.yaml",
    "p1_cosmic_1024_workload.yaml",
    "p1_cosmic_512.yaml",
    "p5_vit22b_64_simulated.yaml",
)
_NEW = ("engine", "engine_reason", "memory", "compute", "compute_reason", "kernels")
"""Keys of ``--json`` that the frozen tree did not write."""
_VARYING = ("worker", "duration_s")
_SUMMARISED = ("gap", "bounds", "best", "hypervolume", "proposals", "infeasible", "failed")

Answers = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much is asked; hashes can be compared where this is equal."""

    trials: int


def digest(answer: Any) -> str:
    """A hash of numbers, texts, lists and mappings; floats count with all their bits."""
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]


def golden(_: Settings) -> Answers:
    """Finish times, statistics and node times of the golden ASTRA-sim cases."""
    from test_astra_cases import cases, write_inputs

    from simcore.formats.astra import run_batch

    if not GOLDEN.is_dir():
        sys.exit(f"{GOLDEN}: the golden cases are needed")
    with tempfile.TemporaryDirectory() as name:
        for row in cases():
            case = json.loads((GOLDEN / row["file"]).read_text())
            entry = write_inputs(case, Path(name) / case["id"])
            for backend in sorted({b.removesuffix("_lenient_stats") for b in case["expected"]}):
                given = [entry | {"backend": backend}]
                found = run_batch(given, Path(name), lambda case, status: None)
                answer = dict(found[case["id"]][backend])
                for text in ("message", "notes"):  # they name folders
                    answer.pop(text, None)
                yield f"{case['id']} {backend}", digest(answer)


def systems(_: Settings) -> Answers:
    """Node times of random systems, every NPU by itself, and one per class of alike ones."""
    from random_systems import random_system

    from simcore import ConfigError
    from simcore.engines.events.fold.run import run_folded
    from simcore.engines.events.run import run_unfolded

    for seed in range(_SYSTEMS):
        outputs: list[Any] = []
        for run in (run_unfolded, run_folded):
            try:
                output = run(random_system(seed))
            except ConfigError:  # of what its algorithms cannot do; sentences may change
                outputs.append("refused")
                continue
            times = [part.tolist() for part in (*output.node_start_ns, *output.node_end_ns)]
            counts = [output.messages, output.received_messages, output.sent_bytes]
            outputs.append([output.finish_ns.tolist(), times, counts, output.busy_ns.tolist()])
        yield str(seed), digest(outputs)


def runs(_: Settings) -> Answers:
    """What ``simulate`` and ``serve`` write of every shipped run and service."""
    for folder, command in (("runs", "simulate"), ("services", "serve")):
        for path in sorted((ROOT / "configs" / folder).glob("*.yaml")):
            with tempfile.TemporaryDirectory() as name:
                out = Path(name) / "out.json"
                words = [sys.executable, "-m", "simcore", command, str(path), "--json", str(out)]
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
                yield path.name, digest(_as_frozen(json.loads(out.read_text())))


def _as_frozen(content: dict[str, Any]) -> dict[str, Any]:
    """*content* without what results did not tell in the frozen tree."""
    return {key: _told(value) for key, value in content.items() if key not in _NEW}


def _all_here(offload: object) -> bool:
    """True if a plan keeps everything in the NPUs."""
    parts = ("weights", "gradients", "optimizer", "activations", "cache")
    return isinstance(offload, dict) and all(offload.get(part) == "npu" for part in parts)


def _told(value: Any) -> Any:
    """The same of what lies within: no measured kernels of accelerators, no formats of its own."""
    if isinstance(value, list):
        return [_told(each) for each in value]
    if not isinstance(value, dict):
        return value
    gone = {"kernels", "movers"} if "peak_flop_per_s" in value else set[str]()
    gone |= {key for key in ("formats", "kept_format") if value.get(key, "") is None}
    gone |= {"moment_format"} if value.get("moment_format") == "fp32" else set()
    gone |= {"tiers"} if value.get("tiers") == {} else set()
    gone |= {key for key in ("mover", "reducer", "mover_cores") if not value.get(key)}
    gone |= {"placement"} if value.get("placement") == {"rule": "as_is", "options": {}} else set()
    gone |= {"offload"} if _all_here(value.get("offload")) else set()
    return {key: _told(inner) for key, inner in value.items() if key not in gone}


def studies(settings: Settings) -> Answers:
    """Rows and summaries of every shipped study, for several seeds and counts of workers."""
    import dse

    for path in sorted((ROOT / "studies").glob("*.yaml")):
        for seed in _SEEDS:
            for workers in _WORKERS:
                executor = "serial" if workers == 1 else "local"
                result = dse.run_study(
                    path, trials=settings.trials, seed=seed, workers=workers, executor=executor
                )
                table = result.trials.drop(columns=list(_VARYING))
                table["notes"] = [_without_memory(text) for text in table["notes"]]
                rows = table.to_json(double_precision=15)
                summary = {key: result.summary.get(key) for key in _SUMMARISED}
                yield f"{path.stem} seed {seed} workers {workers}", digest([rows, summary])


def _without_memory(notes: str) -> str:
    """*notes* but for those on short memory, which the frozen tree did not tell."""
    return "; ".join(note for note in notes.split("; ") if "memory is " not in note)


def bounds(_: Settings) -> Answers:
    """Bounds of time and memory of random designs of every shipped study that has them."""
    import numpy as np
    from bounds import BoundedStudy, random_codes

    from simcore import ConfigError

    for path in sorted((ROOT / "studies").glob("*.yaml")):
        try:
            bounded = BoundedStudy.of(str(path))
        except ConfigError:
            continue  # of a service
        codes = random_codes(bounded.study, _DESIGNS, np.random.default_rng(0))
        codes = bounded.by_path(codes)
        times_s, sizes = bounded.lower.times_s(codes), bounded.lower.footprint_bytes(codes)
        yield path.stem, digest([times_s.tolist(), sizes.tolist()])


def gaps(_: Settings) -> Answers:
    """What ``gap`` proves of some shipped studies."""
    for name in _PROVEN:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            words = [sys.executable, "-m", "dse", "gap", str(ROOT / "studies" / name)]
            subprocess.run([*words, "--gap", "2%", "--out", str(out)], check=True, cwd=ROOT)
            proven = json.loads(out.read_text())
            yield name, digest({k: v for k, v in proven.items() if not k.endswith("_s")})


PARTS: dict[str, Callable[[Settings], Answers]] = {
    part.__name__: part for part in (golden, systems, runs, bounds, gaps, studies)
}
