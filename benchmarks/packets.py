"""Speed of the packet engine on the recorded workloads, beside the reference's.

    python benchmarks/packets.py [--root ../shared/golden/packet/speed] [--runs 3]

CPU seconds of the event loop, the lowest of some runs, after one that compiles the kernels. Events
are counted as the reference counts them, so that both figures mean the same work. Also told:
whether every flow takes the time that was recorded, and the peak memory of the whole process.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simcore.kernels.packets import layout as f
from simcore.packets.case import Case, case_of
from simcore.packets.image import Image, build_image
from simcore.packets.run import carry_out

ROOT = Path(__file__).resolve().parents[1].parent / "shared" / "golden" / "packet" / "speed"
_EVENTS = re.compile(r"events (\d+) .* cpu ([\d.]+)")


def timed(case: Case, runs: int) -> tuple[float, Image]:
    """Least CPU seconds of the event loop, and the memory in which the last run has ended."""
    best_s = float("inf")
    for _ in range(runs):
        image = build_image(case, seed=1)
        begin = time.process_time()
        carry_out(image)
        best_s = min(best_s, time.process_time() - begin)
    return best_s, image


def main() -> int:
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--root", type=Path, default=ROOT)
    ap.add_argument("--runs", type=int, default=3)
    options = ap.parse_args()
    all_equal = True
    for number, path in enumerate(sorted(options.root.glob("*.json"))):
        table = json.loads(path.read_text())
        case = case_of(table)
        if number == 0:
            timed(case, 1)
        taken_s, image = timed(case, options.runs)
        flows = image.flow_table
        fct_ns = (flows[:, f.Q_FINISH_NS] - flows[:, f.Q_START_NS]).tolist()
        is_equal = fct_ns == table["reference"]["fct_ns"]
        all_equal &= is_equal
        found = _EVENTS.search(table["reference"]["line"])
        assert found is not None, path
        events, reference_s = int(found[1]), float(found[2])
        print(
            f"{path.stem:30} {taken_s:6.2f} s {events / taken_s / 1e6:6.2f} M events/s,"
            f" reference {reference_s:6.2f} s ({reference_s / taken_s:4.1f} times),"
            f" flows {'equal' if is_equal else 'DIFFER'}"
        )
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process {peak_mib:.0f} MiB")
    return 0 if all_equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
