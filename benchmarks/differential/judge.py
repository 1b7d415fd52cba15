"""Says how far two runs of a case agree, and why they may differ."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from case import Case
from runs import Outcome

from simcore.formats.chakra import Node
from simcore.terms import CollectiveKind, NodeKind


class Agreement(Enum):
    """How two runs of a case compare; the last one is what a comparison looks for."""

    EQUAL = "equal"
    INCOMPLETE = "same NPUs missing, the others equal"
    ABORTS = "reference aborts"
    DELIBERATE = "different on purpose"
    UNEXPLAINED = "UNEXPLAINED"


class Verdict(NamedTuple):
    """A comparison and its reason."""

    agreement: Agreement
    reason: str = ""


def judge(case: Case, backend: str, theirs: Outcome, ours: Outcome) -> Verdict:
    """Compare the run of the reference with ours."""
    if theirs.code is None:
        return Verdict(Agreement.UNEXPLAINED, "the reference does not end")
    if not _told_before(theirs, ours):
        return Verdict(Agreement.UNEXPLAINED, "other figures")
    if theirs.code != 0:
        return _judge_abort(case, backend, theirs)
    if ours.code == 2:
        return Verdict(Agreement.UNEXPLAINED, "only we refuse it")
    if theirs.figures == ours.figures:
        complete = len(ours.finished) == case.traces.npus
        return Verdict(Agreement.EQUAL if complete else Agreement.INCOMPLETE)
    if theirs.finished == ours.finished and _loses_statistics(case):
        reason = "statistics of an NPU with CPU or memory nodes are lost there"
        return Verdict(Agreement.DELIBERATE, reason)
    if theirs.finished != ours.finished:
        for reason, applies in _HANGS.items():
            if applies(case):
                return Verdict(Agreement.DELIBERATE, reason)
    return Verdict(Agreement.UNEXPLAINED, "other NPUs finish, or other lines")


def _told_before(theirs: Outcome, ours: Outcome) -> bool:
    """Whether all figures that the reference printed are ours; an abort may cut them short."""
    if ours.code == 2:
        return not theirs.finished
    mine = ours.figures
    return all(told <= mine[npu] for npu, told in theirs.figures.items())


def _judge_abort(case: Case, backend: str, theirs: Outcome) -> Verdict:
    for reason, applies in _ABORTS.items():
        if applies(case, backend, theirs):
            return Verdict(Agreement.ABORTS, reason)
    return Verdict(Agreement.UNEXPLAINED, f"exit {theirs.code}: {theirs.message[-200:]}")


def _says(text: str) -> Callable[[Case, str, Outcome], bool]:
    return lambda _case, _backend, theirs: text in theirs.message


def _ring_of_two(case: Case, backend: str, theirs: Outcome) -> bool:
    topology, size, _, _ = case.dimensions[0]
    return backend == "congestion_aware" and topology == "Ring" and size == 2


def _in_clean_up(case: Case, _backend: str, theirs: Outcome) -> bool:
    return len(theirs.finished) == case.traces.npus and bool(case.traces.groups)


def _short_tree_list(case: Case, _backend: str, _theirs: Outcome) -> bool:
    names = case.system["all-reduce-implementation"]
    assert isinstance(names, list)
    return "doubleBinaryTree" in names and (
        len(names) < len(case.dimensions) or bool(case.traces.groups)
    )


def _freed_memory(case: Case, _backend: str, theirs: Outcome) -> bool:
    # PacketBundle::call writes to packets that Ring::reduce has deleted, where several are under
    # way; under valgrind, which does not use freed memory again at once, such runs end and equal
    # ours
    lists = [case.system[f"{key}-implementation"] for key in _KEYS.values()]
    direct = any("irect" in str(names) for names in lists)
    words = ("malloc", "corrupted", "free()", "double free", "send_event.has_value()")
    return direct and (not theirs.message or any(word in theirs.message for word in words))


_ABORTS: dict[str, Callable[[Case, str, Outcome], bool]] = {
    "statistics of CPU and memory nodes": _says("Only GPU and COMM types"),
    "an event of 0 ns at time 0": _says("get_event_time() > current_time"),
    "a message of 0 bytes": _says("chunk_size > 0"),
    "a ring of two NPUs with queues per link": _ring_of_two,
    "double trees in a group or over a part of the dimensions": _short_tree_list,
    "direct writes to freed memory": _freed_memory,
    "clean-up of groups after the last line": _in_clean_up,
}
"""Known reasons for which the reference ends a run that is legal here."""


def _loses_statistics(case: Case) -> bool:
    odd = {NodeKind.MEM_LOAD, NodeKind.MEM_STORE, NodeKind.INVALID}
    return any(
        node.type in odd or _value(node, "is_cpu_op", False)
        for nodes in case.traces.nodes
        for node in nodes
    )


def _value(node: Node, name: str, default: object) -> Any:
    found = node.attribute(name)
    return default if found is None else found.value


def _group_then_all(case: Case) -> bool:
    """Whether an NPU runs a collective of some NPUs, and also one of all."""
    for nodes in case.traces.nodes:
        counts = {_members(case, node) for node in nodes if node.type == NodeKind.COLLECTIVE}
        if len(counts) > 1 and case.traces.npus in counts:
            return True
    return False


def _members(case: Case, node: Node) -> int:
    key = int(_value(node, "pg_name", "0"))
    return len(case.traces.groups[key]) if key else case.traces.npus


def _alone(case: Case) -> bool:
    """Whether a collective has one member only, for its group or for its dimensions."""
    for node in (node for nodes in case.traces.nodes for node in nodes):
        if node.type != NodeKind.COLLECTIVE:
            continue
        names = case.system[f"{_KEYS[_value(node, 'comm_type', 0)]}-implementation"]
        assert isinstance(names, list)
        involved = _value(node, "involved_dim", (True,))[: len(names)]
        if _members(case, node) == 1 or not any(involved):
            return True
    return False


_KEYS = {
    CollectiveKind.ALL_REDUCE: "all-reduce",
    CollectiveKind.ALL_GATHER: "all-gather",
    CollectiveKind.REDUCE_SCATTER: "reduce-scatter",
    CollectiveKind.ALL_TO_ALL: "all-to-all",
}
_HANGS: dict[str, Callable[[Case], bool]] = {
    "a collective of a group, then one of all NPUs, never ends there": _group_then_all,
    "a collective without partners never ends there": _alone,
}
"""Known reasons for which NPUs that finish here never do in the reference."""
