"""Work of a traced step, by the names of its kernels and where they were launched.

Sources: PyTorch, torch/profiler (``ProfilerStep#`` annotations), torch/csrc/autograd/engine.cpp
(``autograd::engine::evaluate_function`` around each function of a backward pass), torch/optim
(``Optimizer.step#``); NCCL, src/device (``ncclDevKernel_<collective>``).
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low

from simcore.comparison.work import COMMUNICATES, COMPUTES, WAITS, Slice, Work
from simcore.errors import ConfigError
from simcore.formats.pytorch.device import DeviceTrace, Event

_KINDS = tuple(
    (kind, re.compile(names, re.IGNORECASE))
    for kind, names in {
        "attention": r"flash|fmha|mha_|attention|attn",
        "optimizer": r"multi_tensor|adam|sgd_|lamb",
        "scan": r"selective_scan|chunk_scan|state_passing|ssd_",
        "embedding": r"embedding|index_?select",
        "routing": r"topk|radixsort|permut|histogram|moe_align",
        "products": r"gemm|gemv|cutlass|xmma|cublas|nvjet|wgmma|s884|s1688|s16816|cijk_"
        r"|winograd|conv(?!ert)",
        "elementwise": r"elementwise|norm|softmax|gelu|silu|relu|dropout|reduce|rotary|rope"
        r"|at::native|triton|cross_entropy",
    }.items()
)
"""Kinds of kernels by their names; the first that fits."""

_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast")
_COMMUNICATION = re.compile(r"^(?:nccl|rccl)|all_?reduce_kernel", re.IGNORECASE)
_BACKWARD, _OPTIMIZER = "autograd::engine::evaluate_function", "Optimizer.step"
OTHER, MESSAGES, COPIES = "other kernels", "messages", "copies"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStep:
    """One step of a trace.

    Attributes:
        what: Its name, in words.
        begin_ns, end_ns: When it runs, counted from the step's own begin.
        slices: Kernels of the accelerator by rank.
        kernels: How many of each kind of work.
        has_phases: The trace tells which kernels belong to a backward pass.
        names_all_to_alls: It tells all-to-alls and messages apart, which one NCCL kernel does.
        unknown: Names of kernels of no known kind, with their times in ns, longest first.
    """

    what: str
    begin_ns: int
    end_ns: int
    slices: Sequence[Slice]
    kernels: Counter[Work]
    has_phases: bool
    names_all_to_alls: bool
    unknown: Sequence[tuple[str, int]]


def traced_step(trace: DeviceTrace, at: str, number: int | None = None) -> TracedStep:
    """Take one step out of a trace.

    Args:
        trace: What PyTorch's profiler wrote.
        at: Its place, for messages.
        number: Of the step, as in ``ProfilerStep#3``; None: the one of median length, or all of a
            trace without annotated steps.

    Raises:
        ConfigError: There is no such step, or no kernel runs in it.
    """
    what, begin_us, end_us = _window(trace, at, number)
    inside = [one for one in trace.gpu if one.end > begin_us and one.ts < end_us]
    if not inside:
        raise ConfigError(at, f"must have kernels of an accelerator in {what}", got="none")
    phases = _Phases(trace)
    named = not any(_is_unnamed(one) for one in inside)
    slices, kernels, unknown = list[Slice](), Counter[Work](), Counter[str]()
    for one in inside:
        kind, rank = _kind(one)
        phase = "" if kind in (MESSAGES, COPIES) else phases.of(one)
        work = Work(kind, phase)
        start, end = (round((time - begin_us) * 1000) for time in (one.ts, one.end))
        slices.append(Slice(start, end, rank, work))
        kernels[work] += 1
        if kind == OTHER:
            unknown[one.name] += end - start
    return TracedStep(
        what=what,
        begin_ns=0,
        end_ns=round((end_us - begin_us) * 1000),
        slices=slices,
        kernels=kernels,
        has_phases=phases.are_told,
        names_all_to_alls=named,
        unknown=unknown.most_common(),
    )


def _window(trace: DeviceTrace, at: str, number: int | None) -> tuple[str, float, float]:
    """Name, begin and end of the step, microseconds."""
    steps = {one.name: one for one in trace.steps}
    if number is not None:
        name = f"ProfilerStep#{number}"
        if name not in steps:
            rule = f"must be one of {', '.join(steps) or 'the steps, of which the trace has none'}"
            raise ConfigError("--step", rule, got=number)
        return name, steps[name].ts, steps[name].end
    if steps:
        length = median_low(one.dur for one in steps.values())
        chosen = next(one for one in steps.values() if one.dur == length)
        return chosen.name, chosen.ts, chosen.end
    if not trace.gpu:
        raise ConfigError(at, "must have kernels of an accelerator", got="none")
    end = max(one.end for one in trace.gpu)
    return "the whole trace, which has no annotated steps", trace.gpu[0].ts, end


def _kind(event: Event) -> tuple[str, int]:
    """Kind of a kernel, and its rank among those of an instant."""
    if event.category != "kernel":
        return COPIES, COMPUTES
    if _COMMUNICATION.search(event.name):
        kind = _collective(event.collective or event.name)
        return kind, WAITS if kind == MESSAGES else COMMUNICATES
    fitting = (kind for kind, names in _KINDS if names.search(event.name))
    return next(fitting, OTHER), COMPUTES


def _collective(name: str) -> str:
    letters = re.sub("[^a-z]", "", name.lower())
    return next((one for one in _COLLECTIVES if one.replace("-", "") in letters), MESSAGES)


def _is_unnamed(event: Event) -> bool:
    return "SendRecv" in event.name and not event.collective


class _Phases:
    """Passes that kernels belong to, by what encloses their launch on its thread."""

    def __init__(self, trace: DeviceTrace) -> None:
        self._launches = {one.correlation: one for one in trace.launches}
        self._backward = _spans(one for one in trace.cpu if one.name.startswith(_BACKWARD))
        self._optimizer = _spans(one for one in trace.cpu if one.name.startswith(_OPTIMIZER))
        self.are_told = bool(self._backward)

    def of(self, kernel: Event) -> str:
        launch = self._launches.get(kernel.correlation)
        if not self.are_told or launch is None:
            return ""
        if _encloses(self._optimizer.get(launch.thread, []), launch.ts):
            return "optimizer"
        backward = _encloses(self._backward.get(launch.thread, []), launch.ts)
        return "backward" if backward else "forward"


_Spans = dict[int | str | None, list[tuple[float, float]]]


def _spans(events: Iterable[Event]) -> _Spans:
    """Times in which events run on each thread, none within another; *events* by their start."""
    found: _Spans = defaultdict(list)
    for one in events:
        of_thread = found[one.thread]
        if not of_thread or one.end > of_thread[-1][1]:
            of_thread.append((one.ts, one.end))
    return found


def _encloses(spans: list[tuple[float, float]], at: float) -> bool:
    place = bisect_right(spans, (at, float("inf"))) - 1
    return place >= 0 and at <= spans[place][1]
