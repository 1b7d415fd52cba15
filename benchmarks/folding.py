"""Folded against unfolded on thousands of random systems: equal results, and CPU seconds of both.

Ends with exit code 1 where a result differs. Run: ``python benchmarks/folding.py --systems 2000``.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from time import process_time

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "property"))
from random_systems import random_system

from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineOutput
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError


def differs(one: EngineOutput, other: EngineOutput) -> bool:
    """Whether two outputs disagree about any NPU."""
    pairs = [
        (one.finish_ns, other.finish_ns),
        *zip(one.node_start_ns, other.node_start_ns, strict=True),
        *zip(one.node_end_ns, other.node_end_ns, strict=True),
    ]
    return one.waiting != other.waiting or not all(np.array_equal(a, b) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--systems", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first system")
    args = parser.parse_args()
    reasons: Counter[str] = Counter()
    different, npus, classes = [], 0, 0
    seconds = {"unfolded": 0.0, "folded": 0.0}
    run_folded(random_system(args.first))
    for number in range(args.first, args.first + args.systems):
        inputs = random_system(number)
        start = process_time()
        try:
            unfolded = run_unfolded(inputs)
        except ConfigError:
            reasons["the input is refused"] += 1
            continue
        middle = process_time()
        folded = run_folded(inputs)
        seconds["unfolded"] += middle - start
        seconds["folded"] += process_time() - middle
        reasons[folded.unfolded_because or "folded"] += 1
        if not folded.unfolded_because:
            npus, classes = npus + unfolded.classes, classes + folded.classes
        if differs(unfolded, folded):
            different.append(number)
    print(
        json.dumps(
            {
                "benchmark": "folding",
                "systems": args.systems,
                "different": different,
                "npus_of_folded": npus,
                "classes_of_folded": classes,
                "cpu_s": {name: round(value, 2) for name, value in seconds.items()},
                "outcomes": dict(reasons.most_common()),
            },
            indent=1,
        )
    )
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
