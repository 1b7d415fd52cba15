"""How many random feasible designs one core simulates per CPU second, thousands at a time.

    python benchmarks/simulate_many.py [--designs 20000] [--compared 200] [STUDY ...]

Designs are uniform draws of a study's space that pass its checks, as in ``evaluations.py``. Two
rates, from columns of values to columns of metrics, kernels loaded:

* first: nothing is known of the designs, so every plan is laid out;
* again: the same designs with all plans known.

Some designs are simulated one by one as well, and must have the same metrics to the last bit. A
loop of plain Python is timed beside each study: where it takes longer, all else does.

The last line is one JSON object.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from evaluations import feasible_designs, loop_ms

from dse.evaluate import build_evaluator
from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.simulator import SimulatorEvaluator
from dse.study.compile import load_study_file
from simcore import ManySimulator, RunTemplate, Simulations, Simulator
from simcore.bounds import DesignColumns
from simcore.simulation import run_with_iteration

STUDIES = [
    "p1_cosmic_1024.yaml",
    "llm_gpt.yaml",
    "llama3_405b_16384.yaml",
    "p3_moe_1p8t_9216.yaml",
]


@dataclass(kw_only=True)
class Result:
    """Rates of one study.

    Attributes:
        together: Designs that were simulated together.
        apart: Why the others were not.
        different: Of the *compared* designs, those that differ from the single way.
    """

    study: str
    designs: int
    plans: int = 0
    first_s: float = 0.0
    again_s: float = 0.0
    together: int = 0
    apart: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    different: int = 0
    loop_ms: float = 0.0

    def __str__(self) -> str:
        first, again = self.designs / self.first_s, self.designs / self.again_s
        return (
            f"{self.study:26} first {first:8.0f}/s   again {again:8.0f}/s   {self.plans} plans   "
            f"together {self.together / self.designs:.1%}   "
            f"{self.different} of {self.compared} differ   loop {self.loop_ms:.0f} ms"
            + "".join(f"\n    apart: {count} since {why}" for why, count in self.apart.items())
        )


def measure(name: str, designs: int, compared: int, seed: int) -> Result:
    """Rates of one study."""
    study = load_study_file(name)
    evaluator = build_evaluator(study.evaluator_input)
    assert isinstance(evaluator, SimulatorEvaluator)
    drawn = list(islice(feasible_designs(study, np.random.default_rng(seed)), designs))
    result = Result(study=name, designs=designs, loop_ms=loop_ms())
    for template, positions, values in DesignRuns(study.evaluator_input).by_template(drawn):
        assert isinstance(template, RunTemplate)
        _measure_columns(result, template, values, compared * len(positions) // designs)
    return result


def _measure_columns(
    result: Result, template: RunTemplate, values: Sequence[Mapping[str, object]], compared: int
) -> None:
    paths = dict.fromkeys(path for row in values for path in row)
    columns = {path: [row.get(path) for row in values] for path in paths}
    _many(template, {path: column[:20] for path, column in columns.items()})  # loads kernels,
    run_with_iteration(template.with_values(values[0]), every_node=True)  # also of the single way
    begin = time.process_time()
    many, codes, found = _many(template, columns)
    result.first_s += time.process_time() - begin
    begin = time.process_time()
    again = many.simulate(codes)
    result.again_s += time.process_time() - begin
    assert (again.iteration_time_ns == found.iteration_time_ns).all()
    result.plans += len(
        {tuple(v for p, v in row.items() if p.startswith("plan")) for row in values}
    )
    result.together += found.together
    result.apart.update(way for way in found.ways if way)
    simulator = Simulator()
    for row in range(compared):
        single = simulator.simulate(template.with_values(values[row]))
        result.compared += 1
        result.different += single.metrics() != found.metrics_of(row)


def _many(
    template: RunTemplate, columns: Mapping[str, Sequence[object]]
) -> tuple[ManySimulator, Mapping[str, np.ndarray], Simulations]:
    designs = DesignColumns.of(columns)
    many = ManySimulator(template, designs.choices)
    return many, designs.codes, many.simulate(designs.codes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("studies", nargs="*", default=STUDIES, metavar="STUDY")
    parser.add_argument("--designs", type=int, default=20_000, help="per study")
    parser.add_argument("--compared", type=int, default=200, help="with the single way, per study")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    results = []
    for name in arguments.studies:
        results.append(measure(name, arguments.designs, arguments.compared, arguments.seed))
        print(results[-1], flush=True)
    report = {"benchmark": "simulate_many", "seed": arguments.seed}
    print(json.dumps({**report, "results": [vars(result) for result in results]}))


if __name__ == "__main__":
    main()
