"""Fits latencies and bandwidths in ``configs/fabrics`` to measured collectives.

    python benchmarks/fit_fabrics.py ROWS.csv [--fabric nvlink3 ...] [--switches] [--write]

For each fabric: start of the communication kernel, latency and efficiency of each protocol and of
the reduction in the switches, as far as its file has them, and where the file lists shares of the
bandwidth for few NPUs, these as medians of the largest transfers. ``--switches`` fits the reduction
in the switches alone. The last line is one JSON object.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from simcore.errors import SimcoreError
from simcore.files.resources import find_config, shipped_names
from simcore.machine.fabric import Fabric
from simcore.validation.collectives import MeasuredCollective, collective_s
from simcore.validation.machine import SCALE_OUT, Accelerator, Machines, accelerator_of
from simcore.validation.rows import MeasuredRow

LEAST_BYTES = 1 << 20
"""Smaller collectives count less: they are latency alone, which differs from host to host."""
SMALL_WEIGHT = 0.3
LARGE_BYTES = 1 << 28
CORNER = 0.05


class Measured:
    """The rows of one fabric, ready to be predicted."""

    def __init__(self, rows: Sequence[MeasuredRow], fabric: str) -> None:
        self.machines, self.cases = Machines(), list(_cases(rows, fabric))
        counts: dict[str, int] = defaultdict(int)
        for source, *_ in self.cases:
            counts[source] += 1
        self.weights = [
            (SMALL_WEIGHT if asked.size_bytes < LEAST_BYTES else 1.0) / math.sqrt(counts[source])
            for source, asked, *_ in self.cases
        ]
        self.is_scale_out = fabric == SCALE_OUT

    def errors(self, fabric: Fabric) -> list[float]:
        found = []
        for _, asked, accelerator, measured_s in self.cases:
            up, out = self.machines.fabric(accelerator.fabric), fabric
            if not self.is_scale_out:
                up, out = fabric, self.machines.fabric(SCALE_OUT)
            memory = self.machines.npu(accelerator.npu).memory_bandwidth_bytes_per_s
            found.append(collective_s(asked, up, out, memory) / measured_s - 1)
        return found

    def loss(self, fabric: Fabric) -> float:
        logs = [math.hypot(math.log1p(error), CORNER) - CORNER for error in self.errors(fabric)]
        return float(np.average(logs, weights=self.weights))


def _cases(
    rows: Sequence[MeasuredRow], fabric: str
) -> Iterator[tuple[str, MeasuredCollective, Accelerator, float]]:
    for row in rows:
        time_us = row.number("time_us")
        try:
            accelerator = accelerator_of(row)
            asked = MeasuredCollective.of(row, accelerator)
        except SimcoreError:
            continue
        if asked.nodes > 1 and not row.text("inter_bw_GBps"):
            continue  # nothing to relate the measured bandwidth to
        used = SCALE_OUT if asked.nodes > 1 else accelerator.fabric
        if used == fabric and time_us:
            yield row.text("source"), asked, accelerator, time_us * 1e-6


def shares(rows: Sequence[MeasuredRow], fabric: Fabric) -> dict[int, float]:
    """Bus bandwidth of large all-reduces among so many NPUs, over that among the most."""
    rates: dict[int, list[float]] = defaultdict(list)
    for _, asked, _, time_s in _cases(rows, fabric.name):
        if asked.size_bytes >= LARGE_BYTES and asked.kind.name == "ALL_REDUCE":
            n = asked.npus
            rates[n].append(2 * (n - 1) / n * asked.size_bytes / time_s)
    medians = {n: float(np.median(found)) for n, found in rates.items()}
    best = medians[max(medians)]
    return {n: round(min(1.0, medians[n] / best), 3) for n in sorted(medians) if medians[n] < best}


def fitted(measured: Measured, fabric: Fabric, *, switches: bool) -> Fabric:
    """*fabric* with the least loss, by Nelder and Mead's simplex on logarithms.

    Args:
        measured: Collectives on it.
        fabric: Where to begin.
        switches: The reduction in the switches is fitted alone, beside all else as it is.
    """
    kept = () if switches else fabric.protocols
    ways = [*kept, *([fabric.in_network] if fabric.in_network else [])]

    def with_values(x: Sequence[float]) -> Fabric:
        values = iter(np.exp(x).tolist())
        start_s = fabric.start_s if switches else next(values)
        changed = [
            way.model_copy(update={"latency_s": next(values), "efficiency": min(1.0, next(values))})
            for way in ways
        ]
        update: dict[str, object] = {"start_s": start_s}
        if fabric.in_network:
            update["in_network"] = changed.pop()
        if changed:
            update["protocols"] = tuple(changed)
        return fabric.model_copy(update=update)

    start = [v for way in ways for v in (way.latency_s, way.efficiency)]
    at = np.log(np.maximum([*([] if switches else [fabric.start_s]), *start], 1e-9))
    for _ in range(2):
        simplex = np.vstack([at, at + 0.2 * np.eye(at.size)])
        options = {"maxfev": 60 * at.size, "initial_simplex": simplex, "fatol": 1e-5}
        at = minimize(
            lambda x: measured.loss(with_values(x)), at, method="Nelder-Mead", options=options
        ).x
    return with_values(at)


def write(fabric: Fabric, told: str) -> None:
    lines = ["version: 1", f"start: {fabric.start_s * 1e6:.4g} us", "protocols:"]
    lines += [f"  - {_protocol(protocol)}" for protocol in fabric.protocols]
    if fabric.in_network:
        lines.append(f"in_network: {_protocol(fabric.in_network)}")
        lines.append(f"in_network_from: {fabric.in_network_from}")
    if fabric.share_by_npus:
        pairs = ", ".join(f"{n}: {share}" for n, share in fabric.share_by_npus.items())
        lines.append(f"share_by_npus: {{{pairs}}}")
    lines += ["source: >-", f"  {told}"]
    path = find_config("fabrics", fabric.name, at="fabric")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _protocol(way: object) -> str:
    name, efficiency, latency_s = way.name, way.efficiency, way.latency_s  # type: ignore[attr-defined]
    latency = f"{latency_s * 1e6:.4g} us"
    return f"{{name: {name}, efficiency: {efficiency:.4g}, latency: {latency}}}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--fabric", nargs="*", default=shipped_names("fabrics"))
    parser.add_argument("--switches", action="store_true", help="fit what they reduce alone")
    parser.add_argument("--write", action="store_true", help="put the values into configs/fabrics")
    arguments = parser.parse_args()
    rows, done = list(MeasuredRow.all_of(arguments.rows)), []
    for name in arguments.fabric:
        measured, fabric = Measured(rows, name), Fabric.load(name)
        if len(measured.cases) < 3 or (arguments.switches and not fabric.in_network):
            continue
        if fabric.share_by_npus and not arguments.switches:
            fabric = fabric.model_copy(update={"share_by_npus": shares(rows, fabric)})
        best = fitted(measured, fabric, switches=arguments.switches)
        errors = measured.errors(best)
        large = [
            abs(error)
            for error, (_, asked, _, _) in zip(errors, measured.cases, strict=True)
            if asked.size_bytes >= LEAST_BYTES
        ]
        told = (
            f"fitted by benchmarks/fit_fabrics.py to {len(errors)} published collectives; mean "
            f"error {np.mean(np.abs(errors)):.1%}, from 1 MiB on {np.mean(large):.1%}"
        )
        if arguments.write:
            write(best, told)
        print(name, told)
        done.append({"fabric": name, "rows": len(errors), "error": float(np.mean(large))})
    print(json.dumps(done))


if __name__ == "__main__":
    main()
