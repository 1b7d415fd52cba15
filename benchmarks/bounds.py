"""How close lower bounds come to simulated iteration times, and what a CPU second gives of them.

    python benchmarks/bounds.py [--designs 300] [--bounds 1000000] [STUDY ...]

Uniform draws of each study's space, with its largest number of network dimensions. Studies whose
evaluator is a closed form are simulated here, their dense model as a run file has it, and members
of a collective wait for each other (``phase_end: together``). The last line is one JSON object.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.designs.assign import Assignment
from dse.proof.designs import paths_of_knobs, run_with_lists
from dse.space.parameters import file_value
from dse.study.compile import Study, load_study_file
from simcore import (
    DesignBounds,
    InfeasibleError,
    RunTemplate,
    SimulationError,
    Simulator,
    footprint,
)

Codes = dict[str, NDArray[np.int64]]

_PARTS = ("worst", "quarter", "median", "three_quarters", "best")


def random_codes(study: Study, designs: int, random: np.random.Generator) -> Codes:
    """Positions of random designs in the choices of the study's knobs."""
    dimensions = max(study.space.dimensions)
    codes = {}
    for block in study.space.blocks:
        table = block.tables[dimensions]
        rows = table[random.integers(0, table.shape[0], designs)]
        for column, name in enumerate(block.names):
            codes[name] = np.ascontiguousarray(rows[:, column]).astype(np.int64)
    return codes


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedStudy:
    """A study whose designs with most network dimensions are bounded.

    Attributes:
        study: It.
        kept: Of its network dimensions, those that are kept.
        paths: Of the run file, per knob.
        run: The run file that the knobs change.
        template: The same, checked.
        lower: Bounds of its designs.
    """

    study: Study
    kept: Sequence[int]
    paths: Mapping[str, Sequence[str]]
    run: dict[str, Any]
    template: RunTemplate
    lower: DesignBounds

    @classmethod
    def of(cls, name: str) -> "BoundedStudy":
        """The shipped study *name*."""
        study = load_study_file(name, {"evaluator": "simulator"})
        dimensions = max(study.space.dimensions)
        kept = study.space.dimensions[dimensions]
        paths = paths_of_knobs(study, kept)
        run = run_with_lists(study, dimensions, paths)
        run["system"] = {**run.get("system", {}), "phase_end": "together"}
        template = RunTemplate.from_table(run)
        parameters = study.space.parameters
        choices = {
            path: tuple(file_value(one, parameters[knob].unit) for one in parameters[knob].choices)
            for knob, own in paths.items()
            for path in own
        }
        lower = DesignBounds(template, choices)
        return cls(study=study, kept=kept, paths=paths, run=run, template=template, lower=lower)

    def by_path(self, codes: Codes) -> Codes:
        """*codes* of knobs as those of the run file's values."""
        return {path: codes[knob] for knob, own in self.paths.items() for path in own}


def measure(name: str, designs: int, bounds: int, seed: int) -> dict[str, float | int | str]:
    bounded = BoundedStudy.of(name)
    lower, parameters = bounded.lower, bounded.study.space.parameters
    codes = random_codes(bounded.study, bounds, np.random.default_rng(seed))
    begin = time.process_time()
    by_path = bounded.by_path(codes)
    lower.times_s(by_path)
    cold_s = time.process_time() - begin
    begin = time.process_time()
    bound_s = lower.times_s(by_path)
    warm_s = time.process_time() - begin
    begin = time.process_time()
    footprint_bytes = lower.footprint_bytes(by_path)
    footprint_s = time.process_time() - begin
    simulator = Simulator()
    ratios: list[float] = []
    wrong = 0
    for n in range(bounds):
        if len(ratios) == designs:
            break
        design = {
            knob: parameters[knob].choices[int(column[n])]
            for knob, column in codes.items()
            if column[n] >= 0
        }
        values = Assignment.of(list(design), parameters, bounded.kept, bounded.run).values(design)
        candidate = bounded.template.with_values(values)
        try:
            result = simulator.simulate(candidate)
        except (InfeasibleError, SimulationError):
            continue
        ratios.append(bound_s[n] / result.iteration_time_s)
        exact = footprint(candidate.workload, candidate.plan).total_bytes
        wrong += int(footprint_bytes[n] != exact)
    quartiles = np.percentile(ratios, [0, 25, 50, 75, 100])
    return {
        "study": name,
        "designs": len(ratios),
        "above_simulated": int((np.array(ratios) > 1).sum()),
        "least_slack": float(1 - max(ratios)),
        **{part: round(float(q), 4) for part, q in zip(_PARTS, quartiles, strict=True)},
        "wrong_footprints": wrong,
        "bounds_per_cpu_s": round(bounds / warm_s),
        "with_tables_per_cpu_s": round(bounds / cold_s),
        "footprints_per_cpu_s": round(bounds / footprint_s),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    studies = ["p1_cosmic_1024.yaml", "p5_vit22b_64.yaml", "llm_gpt.yaml"]
    parser.add_argument("studies", nargs="*", default=studies)
    parser.add_argument("--designs", type=int, default=300)
    parser.add_argument("--bounds", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    results = []
    for name in arguments.studies:
        results.append(measure(name, arguments.designs, arguments.bounds, arguments.seed))
        print(results[-1])
    print(json.dumps({"benchmark": "bounds", "results": results}))
    sys.exit(any(r["above_simulated"] or r["wrong_footprints"] for r in results))


if __name__ == "__main__":
    main()
