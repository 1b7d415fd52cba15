"""Times and memory of training iterations."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from cases import Case
from nets import Net, State

_LEAST, _MOST, _SPENT_S = 5, 12, 0.8
"""Iterations that count: as many as take so long, within these limits."""
_PHASES = ("forward", "backward", "optimizer")
Row = dict[str, object]


@dataclass(slots=True)
class Marks:
    """Events around the phases of one iteration."""

    torch: Any
    spans: list[tuple[str, Any, Any]] = field(default_factory=list)

    def run(self, phase: str, work: Callable[[], Any]) -> Any:
        begin, end = self._event(), self._event()
        begin.record()
        found = work()
        end.record()
        self.spans.append((phase, begin, end))
        return found

    def _event(self) -> Any:
        return self.torch.cuda.Event(enable_timing=True)

    def whole_ms(self) -> float:
        return float(self.spans[0][1].elapsed_time(self.spans[-1][2]))

    def phase_ms(self, phase: str) -> float:
        return sum(begin.elapsed_time(end) for name, begin, end in self.spans if name == phase)


class Trained:
    """A case that is ready to run on the accelerator."""

    def __init__(self, torch: Any, case: Case) -> None:
        self._torch, self._case = torch, case
        self.net = Net.of(torch, case, "cuda")
        self._state = State(self.net)
        size = (4, case.micro_batch, case.sequence)
        self._tokens = torch.randint(case.vocabulary, size, device="cuda")
        self._next = 0

    def iterate(self, run: Callable[[str, Callable[[], Any]], Any]) -> None:
        """One iteration, whose phases *run* calls."""
        for _ in range(self._case.accumulated):
            self._next += 1
            tokens = self._tokens[self._next % 4]
            targets = self._tokens[(self._next + 1) % 4]
            loss = run("forward", lambda a=tokens, b=targets: self.net.forward(a, b))
            run("backward", loss.backward)
            del loss
        run("optimizer", self._state.step)

    def times(self, clocks: Callable[[], Row]) -> Row:
        torch = self._torch
        torch.cuda.synchronize()
        begin = perf_counter()
        self.iterate(lambda _, work: work())
        torch.cuda.synchronize()
        count = min(_MOST, max(_LEAST, int(_SPENT_S / (perf_counter() - begin))))
        marks = [Marks(torch) for _ in range(count)]
        issued = perf_counter()
        for one in marks:
            self.iterate(one.run)
        issued = perf_counter() - issued
        told = clocks()
        torch.cuda.synchronize()
        wholes = [one.whole_ms() for one in marks]
        found: Row = {"iterations": count, "iteration_ms": median(wholes)}
        found |= {"least_ms": min(wholes), "most_ms": max(wholes)}
        found |= {f"{p}_ms": median([one.phase_ms(p) for one in marks]) for p in _PHASES}
        return found | {"issue_ms": 1e3 * issued / count} | told

    def memory(self) -> Row:
        """Peak of whole iterations, then those of each phase of another one, in bytes."""
        torch, cuda = self._torch, self._torch.cuda
        free, total = cuda.mem_get_info()
        found: Row = {
            "peak_bytes": cuda.max_memory_allocated(),
            "reserved_bytes": cuda.max_memory_reserved(),
            "context_bytes": total - free - cuda.memory_reserved(),
            "held_bytes": cuda.memory_allocated(),
        }

        def run(phase: str, work: Callable[[], Any]) -> Any:
            cuda.reset_peak_memory_stats()
            done = work()
            torch.cuda.synchronize()
            found[f"{phase}_peak_bytes"] = cuda.max_memory_allocated()
            found[f"{phase}_end_bytes"] = cuda.memory_allocated()
            return done

        self.iterate(run)
        return found

    def kernels(self) -> list[Row]:
        """Kernels of one iteration by name, as the profiler saw them, the longest first."""
        profiler = self._torch.profiler
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as seen:
            self.iterate(lambda _, work: work())
            self._torch.cuda.synchronize()
        events = [e for e in seen.key_averages() if e.self_device_time_total > 0]
        events.sort(key=lambda event: -event.self_device_time_total)
        return [
            {"name": e.key[:160], "count": e.count, "us": e.self_device_time_total}
            for e in events[:60]
        ]


def measured(torch: Any, case: Case, clocks: Callable[[], Row], *, profiled: bool) -> Row:
    """Everything of one case; the accelerator is empty before and after."""
    _clear(torch)
    row: Row = {"name": case.name} | case.columns()
    begin = perf_counter()
    try:
        trained = Trained(torch, case)
        row["parameters"] = trained.net.parameters
        for _ in range(2):
            trained.iterate(lambda _, work: work())
        torch.cuda.synchronize()
        row["start_s"] = perf_counter() - begin
        torch.cuda.empty_cache()  # what compiling and choosing kernels left
        torch.cuda.reset_peak_memory_stats()
        row |= trained.times(clocks)
        row |= trained.memory()
        if profiled:
            row["kernels"] = trained.kernels()
    except RuntimeError as error:
        row["error"] = str(error).split("\n")[0][:300]
    return row


def _clear(torch: Any) -> None:
    gc.collect()
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
