"""How much front a study has at most: a bound on the hypervolume of everything that could exist.

    python benchmarks/ceiling.py STUDY.yaml --reference VALUE ... [--random VOLUME] [--gap 0.02]
        [--seconds 150]

The proof simulates designs until none is better than those found by more than the gap in every
objective, or until the time is up. Whatever it has not ruled out by then counts as if it existed,
so that the hypervolume of what was found and of what was not ruled out is a ceiling for every
search. Hypervolumes are those of log10 of the objectives, up to a reference point that has one
value per objective of the study; ``benchmarks/search/fronts.py`` tells its own, and that of random
designs, which is 1 in the last column.
"""

import argparse
import json

import numpy as np

from dse.proof.close import Effort, close_gap
from dse.proof.prove import Proof
from dse.rank.quality import study_quality
from dse.study.compile import load_study_file


def volumes(proof: Proof, reference: tuple[float, ...]) -> tuple[float, float]:
    """Hypervolume of the designs found, and of all that is not ruled out."""
    signs = (1,) * len(proof.objectives)
    every = np.concatenate([proof.values, proof.possible])
    found = study_quality(proof.values, signs, reference).hypervolume
    most = study_quality(every, signs, reference).hypervolume
    return found or 0.0, most or 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study")
    parser.add_argument("--reference", type=float, nargs="+", required=True)
    parser.add_argument("--random", type=float, help="hypervolume that others are told by")
    parser.add_argument("--gap", type=float, default=0.02)
    parser.add_argument("--seconds", type=float, default=150.0, help="CPU seconds")
    given = parser.parse_args()
    effort = Effort(seconds=given.seconds)
    proof = close_gap(load_study_file(given.study), gap=given.gap, effort=effort)
    found, most = volumes(proof, tuple(given.reference))
    unit = given.random or found
    for name, volume in (("found by the proof", found), ("all that could exist", most)):
        print(f"{name}\t{volume:.4f}\t{volume / unit:.4f}", flush=True)
    facts = {
        "study": given.study,
        "reference": given.reference,
        "random": given.random,
        "found": found,
        "ceiling": most,
        "gap": given.gap,
        "closed": proof.is_closed,
        "simulated": proof.simulations,
        "CPU s": round(proof.seconds, 1),
    }
    print(json.dumps({"benchmark": "ceiling", "results": facts}))


if __name__ == "__main__":
    main()
