"""Account of where the kernel times of an iteration come from, and how sure they are."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simcore.compute.tables.lookup import kernel_times
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.units import plain_sum
from simcore.workload.graph import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelAccount:
    """Time of an iteration's kernels by the origin of their times.

    Attributes:
        tables: Name or path of the tables; empty: there are none.
        total_s: Of all kernels on all stages.
        measured_s: Of those whose times come from tables.
        beyond_s: Of those among them whose shapes lie beyond the measured ones.
        farthest: The most that one lies beyond, as a factor.
        spread: Relative band of ``measured_s`` that four of five left-out points keep to; of
            kernels beyond the measured shapes wider by as many times as there are factors of 2.
        by_roofline_s: By kind, of those that no table holds: for them no band is known.
    """

    tables: str
    total_s: float
    measured_s: float
    beyond_s: float
    farthest: float
    spread: float
    by_roofline_s: dict[str, float]

    def told(self) -> str:
        """The account in one line."""
        if not self.tables:
            return "the accelerator has no tables: all kernels by roofline"
        told = f"{_part(self.measured_s, self.total_s)} of their time from the tables {self.tables}"
        if self.measured_s:
            told += f" (band {self.spread:.0%})"
        if self.beyond_s:
            told += f", {_part(self.beyond_s, self.total_s)} beyond measured shapes, by up to "
            told += f"{self.farthest:.3g} times, where the band is wider"
        if self.by_roofline_s:
            kinds = ", ".join(sorted(self.by_roofline_s, key=lambda k: -self.by_roofline_s[k]))
            left_s = plain_sum(self.by_roofline_s.values())
            told += f"; {_part(left_s, self.total_s)} by roofline, no table holding them: {kinds}"
        return told


def _part(time_s: float, of_s: float) -> str:
    return f"{time_s / of_s:.1%}" if of_s else "0%"


def account_of(
    operators: Sequence[Operator], counts: Iterable[float], npu: Npu, precision: Precision
) -> KernelAccount:
    """Account of *operators*, each of which runs so many times.

    Raises:
        ConfigError: The accelerator names tables that are none, or has no peak for *precision*.
    """
    times = kernel_times(npu, precision)
    total_s = measured_s = beyond_s = spread_s = farthest = 0.0
    by_roofline_s: dict[str, float] = defaultdict(float)
    for operator, count in zip(operators, counts, strict=True):
        kernels = times.asked(operator.kernels)
        for kernel, time_s in zip(kernels, times.times_s(operator.kernels), strict=True):
            whole_s, origin = float(count) * time_s, times.origin(kernel)
            total_s += whole_s
            if not whole_s:
                continue
            if origin is None:
                by_roofline_s[kernel.kind] += whole_s
                continue
            measured_s += whole_s
            spread = max([table.spread for table in origin.tables], default=0.0)
            spread_s += whole_s * spread * (1 + origin.beyond)
            if origin.beyond:
                beyond_s, farthest = beyond_s + whole_s, max(farthest, origin.beyond)
    return KernelAccount(
        tables=str(npu.kernels.tables) if npu.kernels else "",
        total_s=total_s,
        measured_s=measured_s,
        beyond_s=beyond_s,
        farthest=2.0**farthest,
        spread=spread_s / measured_s if measured_s else 0.0,
        by_roofline_s=dict(by_roofline_s),
    )
