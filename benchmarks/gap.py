"""How much must be simulated before nothing better can exist, and how long that takes.

    python benchmarks/gap.py [--page docs/gap.md]

Members of a collective wait for each other (``phase_end: together``). The last line is one JSON
object; ``--page`` writes the table into the page.
"""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

from page import markdown_table, write_table

from dse.proof.close import Effort, close_gap
from dse.study.compile import Study, load_study_file


@dataclass(frozen=True)
class Question:
    study: str
    objectives: tuple[str, ...]
    gap: float
    seconds: float = 300.0


QUESTIONS = [
    Question("p5_vit22b_64.yaml", ("iteration_time", "capital_cost"), 0.0),
    Question("p5_vit22b_64.yaml", ("time_capital_cost",), 0.0),
    Question("p1_cosmic_1024.yaml", ("time_network_cost",), 0.01),
    Question("p1_cosmic_1024.yaml", ("time_network_cost",), 0.0),
    Question("p1_cosmic_2048.yaml", ("time_network_cost",), 0.0),
    Question("p1_cosmic_2048.yaml", ("time_bandwidth",), 0.0),
    Question("gpt3_175b_512_calculon.yaml", ("iteration_time",), 0.01, seconds=60.0),
]
HEADER = ["study", "objectives", "designs", "asked", "simulated", "proven gap", "CPU s"]


def held_together(study: Study) -> Study:
    run = dict(study.file.run)
    run["system"] = {**run.get("system", {}), "phase_end": "together"}
    return replace(study, file=study.file.model_copy(update={"run": run}))


def measure(question: Question) -> dict[str, object]:
    study = held_together(load_study_file(question.study, {"evaluator": "simulator"}))
    effort = Effort(seconds=question.seconds)
    proof = close_gap(study, question.objectives, gap=question.gap, effort=effort)
    return {
        "study": question.study,
        "objectives": ", ".join(question.objectives),
        "designs": study.space.counts.searched,
        "asked": f"{question.gap:.2%}",
        "simulated": proof.simulations,
        "proven gap": f"{max(proof.gaps):.2%}",
        "CPU s": round(proof.seconds, 1),
        "closed": proof.is_closed,
        "best": proof.values.min(axis=0).tolist(),
        "front": len(proof.designs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    rows = []
    for question in QUESTIONS:
        rows.append(measure(question))
        print(rows[-1], flush=True)
    if arguments.page:
        table = markdown_table(HEADER, [[row[name] for name in HEADER] for row in rows])
        write_table(arguments.page, "gap", table)
    print(json.dumps({"benchmark": "gap", "results": rows}))


if __name__ == "__main__":
    main()
