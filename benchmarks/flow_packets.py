"""Flows against packets: `python benchmarks/flow_packets.py [--control]`, on golden/packet.

Prints each case's mean time of a flow and last end over those of the packet simulation, then the
medians by family and by congestion control, and the cases whose last end is off by more than 10 %.
With --control senders of the fluid react as those of the case do; else that is left out.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from packet_cases_as_flows import FOLDER, compared

FAMILIES = ("single", "share2", "share4", "perm", "a2a", "ring", "mixed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--control", action="store_true", help="senders react")
    args = parser.parse_args()
    families = args.families
    means: dict[str, list[float]] = defaultdict(list)
    lasts: dict[str, float] = {}
    for path in sorted(FOLDER.glob("*.json")):
        family = path.name.split(".")[1]
        if family not in families:
            continue
        _, cc, mean, last = compared(path, reacts=args.control)
        print(f"{path.stem:40} mean {mean:6.3f}  last {last:6.3f}", flush=True)
        for key in ("all", family, cc):
            means[key].append(abs(mean - 1))
        lasts[path.stem] = last
    for key, values in means.items():
        print(f"{key:12} {len(values):3} cases, median error of the mean {median(values):7.2%}")
    far = {name: last for name, last in lasts.items() if abs(last - 1) > 0.1}
    print(f"last end within 10 % in {len(lasts) - len(far)} of {len(lasts)}; not in")
    for name, last in far.items():
        print(f"  {name:38} {last:6.3f}")


if __name__ == "__main__":
    main()
