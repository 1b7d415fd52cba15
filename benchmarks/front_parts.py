"""Machines of a front as bought: can they be built, and is their network a likely part of it?

    python benchmarks/front_parts.py [STUDY.yaml ...] [--trials N] [--seed S]

Runs shipped studies, by default those of training whose machines are bills of materials, with their
own number of trials, and holds the bill of each design of the front, and of the run of the study,
against five rules:

* the accelerators, their servers and links can have the machine (`physical`);
* every line of the bill is a part of the list, none of it custom;
* the ports of an NPU are told;
* total and network each lie between their low and high;
* from 25 GB/s per NPU on, outside the accelerators' own domains, the network is 5 to 40 % of the
  price. Published: 4.6 to 14.6 % of H100 clusters (cost sheet of August 2024), 13 to 18 % of GB300
  racks (analysts), 19 % of training clusters in the mean (Epoch AI).

Exit code 1 if a design breaks one. The last line is one JSON object.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dse
from dse.costs import PriceBook, load_prices
from dse.costs.bill import Bill, Biller
from dse.evaluate import DEFAULT_EVALUATOR, build_evaluator
from dse.results.result import StudyResult
from dse.study.compile import load_study_file
from simcore import Platform, scale_up_dimensions, shipped_folder, unbuildable

SHARES = (0.05, 0.40)
"""Least and largest part of the price that a network is."""

FAST_BYTES_PER_S = 25e9
"""Bandwidth of an NPU outside its domain from which on the shares hold."""


def broken(platform: Platform, bill: Bill, prices: PriceBook) -> Iterator[str]:
    """Rules that a machine breaks, each as a sentence."""
    if error := unbuildable(platform):
        yield f"nobody sells it: {error.reason}"
    known = {*prices.parts, platform.npu.name}
    for line in bill.lines:
        if line.part not in known:
            yield f"{line.part} is not on the parts list"
        elif line.part in prices.parts and prices.parts[line.part].kind == "custom":
            yield f"{line.part} is a custom part"
    if outside(platform) and bill.ports_per_npu <= 0:
        yield "no port of an NPU is told"
    for name, one in (("machine", bill), ("network", bill.network)):
        if not one.low_usd <= one.usd <= one.high_usd:
            yield f"price of the {name}: {one.usd:.0f} USD is not within its range"
    share, (least, most) = bill.network_share, SHARES
    if outside(platform) >= FAST_BYTES_PER_S and not least <= share <= most:
        yield f"network is {share:.1%} of the price"


def outside(platform: Platform) -> float:
    """Bandwidth of an NPU outside its scale-up domain, dimensions that share ports counted once.

    Of a network given as a graph, whose dimensions are its levels, that of the first level.
    """
    if levels := [one for one in platform.dimensions if one.network is not None]:
        return float(levels[0].bandwidth_bytes_per_s)
    beyond = platform.dimensions[scale_up_dimensions(platform) :]
    return float(sum(one.bandwidth_bytes_per_s for one in beyond if not one.shares_ports))


def machines(result: StudyResult) -> Iterator[tuple[str, Platform]]:
    """Machines of the front and of the run of the study, by name."""
    evaluator = build_evaluator(result.study.evaluator_input)
    named = [(f"trial {row.number}", row) for row in (result.rows[at] for at in result.front)]
    for name, row in [*named, *([("run", result.baseline)] if result.baseline else [])]:
        if priced := evaluator.priced(row.design, row.evaluation.metrics):
            yield name, priced.platform


def of_study(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Figures of one study, printed as they come."""
    result = dse.run_study(name, executor="serial", **options)
    cost = result.study.file.cost
    prices = load_prices(cost.prices if cost else "default")
    biller, shares, violators = Biller(prices), [], []
    for machine, platform in machines(result):
        bill = biller.bill(platform)
        shares.append(bill.network_share)
        print(
            f"{name} {machine}: {outside(platform) / 1e9:g} GB/s per NPU outside its domain, "
            f"{bill.ports_per_npu:g} ports; {bill.usd / 1e6:.2f} MUSD ({bill.low_usd / 1e6:.2f} to "
            f"{bill.high_usd / 1e6:.2f}); network {bill.network_share:.1%}",
            flush=True,
        )
        for rule in broken(platform, bill, prices):
            print(f"  VIOLATES {rule}", flush=True)
            violators.append(f"{machine}: {rule}")
    return {
        "front": len(result.front),
        "network_share": [round(min(shares), 4), round(max(shares), 4)],
        "violators": violators,
    }


def priced_by_bill(path: Path) -> bool:
    """True if the study at *path* trains, as what is published of shares does, on priced parts."""
    file = load_study_file(path).file
    trains = file.evaluator == DEFAULT_EVALUATOR
    return trains and file.cost is not None and file.cost.model == "bill_of_materials"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--trials", type=int)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    shipped = sorted(shipped_folder("studies").glob("*.yaml"))
    names = given.studies or [path.name for path in shipped if priced_by_bill(path)]
    options = {"trials": given.trials, "seed": given.seed}
    found = {name: of_study(name, options) for name in names}
    print(json.dumps(found))
    sys.exit(any(figures["violators"] for figures in found.values()))


if __name__ == "__main__":
    main()
