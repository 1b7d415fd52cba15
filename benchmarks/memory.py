"""Part of measured training runs that the memory model would refuse, although they ran.

    python benchmarks/memory.py ROWS.csv [--json OUT.json] [--show 15]

Each row that can be mapped becomes a run as in ``simcore validate``; its memory is held against
that of the accelerator. A run that is refused here ran in fact, so each one is an error, of the
memory model or of what the mapping fills in. That the model still refuses something shows in the
same plans on accelerators with a part of the memory. The last line is one JSON object.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simcore.config import Run
from simcore.errors import SimcoreError
from simcore.memory.fit import MemoryFit, Shortage
from simcore.memory.footprint import footprint
from simcore.memory.runtime import runtime_memory
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.rows import MeasuredRow

SHRINK = (1.0, 0.75, 0.5, 0.25)
"""Parts of the memory against which the runs are held too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A row, the run that it became, and its memory."""

    row: MeasuredRow
    run: Run
    fit: MemoryFit
    largest: str

    @property
    def fill(self) -> float:
        return self.fit.held_bytes / self.fit.capacity_bytes


CLASSES: dict[str, Callable[[Case], str]] = {
    "source": lambda case: case.row.text("source"),
    "model": lambda case: case.row.text("arch"),
    "accelerator": lambda case: case.run.platform.npu.name,
    "format": lambda case: str(case.run.workload.precision),
    "layout": lambda case: _layout(case.run),
    "recompute": lambda case: case.row.text("recompute") or "not published",
    "recompute taken": lambda case: _taken(case.run),
}


def _layout(run: Run) -> str:
    plan = run.plan
    axes = {"tp": plan.tp, "pp": plan.pp, "cp": plan.cp, "ep": plan.ep}
    split = " ".join(name for name, size in axes.items() if size > 1)
    return f"{split or 'dp'}, zero {plan.zero_stage}"


def _taken(run: Run) -> str:
    plan = run.plan
    if plan.recompute == "full" and plan.recompute_layers:
        return "full, some layers"
    return plan.recompute if not plan.recompute_parts else "parts"


def cases(path: Path, left_out: Counter[str]) -> Iterator[Case]:
    """The rows of *path* that become runs; the others are counted in *left_out*."""
    machines = Machines()
    for row in MeasuredRow.all_of(path):
        try:
            run = run_of(row, machines)
            needed = footprint(run.workload, run.plan)
        except SimcoreError as error:
            left_out[type(error).__name__] += 1
            continue
        runtime = runtime_memory(run.workload, run.plan, needed)
        fit = MemoryFit.of(needed, runtime, run.platform.npu.memory_bytes)
        parts = needed.parts()
        yield Case(row=row, run=run, fit=fit, largest=max(parts, key=parts.__getitem__))


def print_class(name: str, found: Sequence[Case]) -> None:
    """Print the part of each class that is refused, and how sure that is."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in found:
        groups[CLASSES[name](case)].append(case)
    print(f"\n{name:44s} {'runs':>5s} {'certain':>8s} {'likely':>7s} {'tight':>6s} {'refused':>8s}")
    for group, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        told = Counter(case.fit.shortage for case in members)
        counts = [told[kind] for kind in (Shortage.CERTAIN, Shortage.LIKELY, Shortage.TIGHT)]
        columns = f"{len(members):5d} {counts[0]:8d} {counts[1]:7d} {counts[2]:6d}"
        print(f"{group[:44]:44s} {columns} {counts[0] / len(members):8.1%}")


def print_largest(found: Sequence[Case], count: int) -> None:
    """Print the runs that exceed the memory most."""
    print("\nlargest excesses: memory held over what there is, largest part")
    refused = [case for case in found if case.fit.shortage is Shortage.CERTAIN]
    for case in sorted(refused, key=lambda case: -case.fill)[:count]:
        run, plan = case.run, case.run.plan
        print(
            f"{case.fill:5.2f}  {case.largest:12s} {run.workload.model.name[:20]:20s} "
            f"{run.platform.name[:16]:16s} {run.workload.precision!s:5s} tp{plan.tp} pp{plan.pp} "
            f"cp{plan.cp} ep{plan.ep} dp{plan.dp} x{plan.interleave} mb{plan.micro_batch} "
            f"zero{plan.zero_stage} {_taken(run)}; {case.row.id}"
        )


def summary(found: Sequence[Case], left_out: Counter[str]) -> dict[str, object]:
    """Figures of all runs."""
    told = Counter(str(case.fit.shortage) for case in found)
    shrunk = {
        f"{part:g}": sum(case.fill > part for case in found) / max(1, len(found)) for part in SHRINK
    }
    return {
        "runs": len(found),
        "left_out": sum(left_out.values()),
        "refused": told["certain"],
        "refused_part": told["certain"] / max(1, len(found)),
        "shortage": dict(sorted(told.items())),
        "refused_part_with_less_memory": shrunk,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=int, default=15)
    given = parser.parse_args()
    left_out: Counter[str] = Counter()
    found = list(cases(given.rows, left_out))
    for name in CLASSES:
        print_class(name, found)
    print_largest(found, given.show)
    figures = summary(found, left_out)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
