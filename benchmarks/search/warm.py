"""Warm starts against cold ones: what the fronts of earlier studies are worth to a search.

    python benchmarks/search/warm.py [PAIR ...] [--seeds 12] [--trials 200] [--page docs/search.md]

A pair is a study and one that was searched earlier: of another machine, model, size, batch or
network, or one whose lesson is wrong. Each seed searches twice, without and with
``search.learn_from``, in one process; the earlier studies are searched with seed 100 and as many
trials. Lessons are evaluated on top of the trials; *alike many* is the part of a warm search that
has made no more evaluations than the cold one, lessons first. The measure is the hypervolume in
log10 of the objectives by that of the front of all runs of the pair, with a reference of 1.1 x the
worst of each objective on it; of one objective, the best value of all by that of the run. The last
line is one JSON object.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from seeds import Here, front_of, points_of, searched, volume

from dse import run_study
from dse.evaluate import build_evaluator
from dse.run.learned import learned_designs
from dse.run.lessons.beside import LOOKED_AT
from dse.space import Design
from dse.study.compile import find_study, load_study_file
from dse.study.trials import Trial

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page import markdown_table, write_table

Values = NDArray[np.float64]

_EARLIER_SEED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A shipped study, and changes to it that give the earlier one.

    Attributes:
        study: Name of its file.
        before: Name of the file of the earlier study.
        changes: Of the earlier study, by path.
    """

    study: str
    before: str
    changes: Mapping[str, Any] = field(default_factory=dict)


_VIT, _GPT = "p5_vit22b_64.yaml", "p1_cosmic_1024.yaml"
_SLOW = "space.axes.platform/dimensions[1]/bandwidth"
_SLOW_RATES = ["0.5 GB/s", "1 GB/s", "2 GB/s"]

PAIRS = {
    "vit_machine": Pair(study=_VIT, before=_VIT, changes={"run.platform.npu": "h100_80"}),
    "vit_model": Pair(
        study=_VIT,
        before=_VIT,
        changes={"run.workload.model.hidden": 3072, "run.workload.model.ffn": 12288},
    ),
    "vit_size": Pair(
        study=_VIT,
        before=_VIT,
        changes={
            "space.products.0.equals": 256,
            "space.products.1.equals": 256,
            "run.platform.dimensions.1.npus": 32,
            "run.plan.dp": 32,
        },
    ),
    "vit_batch": Pair(study=_VIT, before=_VIT, changes={"run.workload.global_batch": 4096}),
    "vit_network": Pair(
        study=_VIT,
        before=_VIT,
        changes={"run.platform.dimensions.0.latency": "50 us", _SLOW: {"ladder": _SLOW_RATES}},
    ),
    "vit_again": Pair(study=_VIT, before=_VIT),
    "vit_reverse": Pair(
        study=_VIT,
        before=_VIT,
        changes={"objectives": {"iteration_time": "maximise", "capital_cost": "maximise"}},
    ),
    "gpt_machine": Pair(study=_GPT, before=_GPT, changes={"run.platform.npu": "h100_80"}),
    "gpt_size": Pair(study=_GPT, before="p1_cosmic_512.yaml"),
    "gpt_faster": Pair(study="p1_cosmic_2048.yaml", before=_GPT),
}


def earlier_study(pair: Pair, folder: Path, trials: int) -> Path:
    """Search the earlier study of *pair*; gives where its results are."""
    data = yaml.safe_load(find_study(pair.before).read_text(encoding="utf-8"))
    data.pop("reference_point", None)
    for path, value in pair.changes.items():
        *parts, last = (part.replace("/", ".") for part in path.split("."))
        place = data
        for part in parts:
            place = place[int(part) if isinstance(place, list) else part]
        place[int(last) if isinstance(place, list) else last] = value
    file = folder / "before.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    run_study(file, trials=trials, seed=_EARLIER_SEED, executor="serial", out=folder / "before")
    return folder / "before"


def measure(pair: Pair, seeds: int, trials: int) -> dict[str, Any]:
    """Shares of all seeds, cold and warm."""
    points: dict[str, list[Values]] = {"cold": [], "warm": [], "alike": []}
    at_once = 0
    with tempfile.TemporaryDirectory() as name:
        before = str(earlier_study(pair, Path(name), trials))
        for how, folders in (("cold", []), ("warm", [before])):
            changes = {"search.learn_from": folders, "search.trials": trials}
            study = load_study_file(pair.study, changes)
            if study.levels:
                study = study.judged_at(study.levels[0])
            lessons = learned_designs(study).designs
            evaluator = build_evaluator(study.evaluator_input)
            here = Here(study, evaluator)
            for seed in range(seeds):
                rows, _ = searched(study, evaluator, here, seed, trials, 32)
                points[how].append(points_of(study, rows))
                if how == "warm":
                    first = _lessons_first(rows, lessons)[:trials]
                    points["alike"].append(points_of(study, first))
                    at_once += bool(lessons) and rows[LOOKED_AT].design == lessons[0]
    best = front_of(np.concatenate([*points["cold"], *points["warm"]]))
    found: dict[str, Any] = {
        how: [_share(own, best) for own in each] for how, each in points.items()
    }
    return found | {"lessons": len(lessons), "at once": at_once}


def _lessons_first(rows: Sequence[Trial], lessons: Sequence[Design]) -> list[Trial]:
    """The rows of a search in the order in which they were evaluated."""
    first = [row for row in rows if row.design in lessons and row.repeats is None]
    return first + [row for row in rows if row not in first]


def _share(points: Values, best: Values) -> float:
    if best.shape[1] == 1:
        return float(best.min() / points.min())
    return volume(points, best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", nargs="*", default=list(PAIRS))
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    found, table = {}, []
    for name in given.pairs:
        found[name] = own = measure(PAIRS[name], given.seeds, given.trials)
        cold, warm, alike = (np.array(own[how]) for how in ("cold", "warm", "alike"))
        row = [name, own["lessons"], own["at once"], cold.mean(), warm.mean(), alike.mean()]
        row += [cold.min(), warm.min()]
        row += [int(are.sum()) for are in (warm > cold, warm < cold, alike < cold)]
        table.append([f"{x:.4f}" if isinstance(x, float) else x for x in row])
        print(table[-1], file=sys.stderr, flush=True)
    header = ["pair", "lessons", "seeds told at once", "cold", "warm", "alike many"]
    header += ["least cold", "least warm", f"seeds of {given.seeds} that are better"]
    header += ["that are worse", "worse, alike many"]
    print(markdown_table(header, table))
    if given.page:
        write_table(given.page, "warm", markdown_table(header, table))
    facts = {"seeds": given.seeds, "trials": given.trials, "results": found}
    print(json.dumps({"benchmark": "warm", **facts}))


if __name__ == "__main__":
    main()
