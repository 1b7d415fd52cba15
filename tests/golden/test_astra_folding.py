"""Folding changes nothing on the golden ASTRA-sim cases, and applies to most of them.

Source: golden/astra, made with ASTRA-sim 518bd51 and its analytical backends.
"""

from collections import Counter

import numpy as np
import pytest
from engine_cases import inputs_of, load_case
from test_engine_goldens import CASES

from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineOutput
from simcore.engines.events.run import run_unfolded

pytestmark = pytest.mark.skipif(not CASES, reason="golden ASTRA-sim cases are not here")

# Runs of each reason not to fold, at most: a new one needs a look.
UNFOLDED = {
    "the order of simultaneous events depends on the order of the NPUs": 15,
    "no two NPUs are alike": 30,
    "custom collectives give every member a program of its own": 18,
    "NPUs share memory servers": 6,
    "pairs need a power of two": 4,
    "NPUs wait for ever, or messages are never received": 4,
    "rendezvous sends messages both ways": 4,
    "messages turn from one dimension into another": 3,
}


def assert_same(one: EngineOutput, other: EngineOutput, run: str) -> None:
    assert np.array_equal(one.finish_ns, other.finish_ns), run
    for a, b in zip(one.node_start_ns, other.node_start_ns, strict=True):
        assert np.array_equal(a, b), run
    for a, b in zip(one.node_end_ns, other.node_end_ns, strict=True):
        assert np.array_equal(a, b), run
    for name in ("messages", "sent_bytes", "received_messages", "received_bytes", "waiting"):
        assert getattr(one, name) == getattr(other, name), run


def test_every_golden_run_folds_to_the_same_result_or_says_why_it_does_not() -> None:
    runs, simulated, of = 0, 0, 0
    reasons: Counter[str] = Counter()
    for case_id, backend in CASES:
        case = load_case(case_id)
        if case["workload"]["kind"] != "nodes":
            continue
        inputs = inputs_of(case, backend)
        unfolded, folded = run_unfolded(inputs), run_folded(inputs)
        assert_same(unfolded, folded, f"{case_id} {backend}")
        assert (folded.classes == unfolded.classes) == bool(folded.unfolded_because)
        runs += 1
        if folded.unfolded_because:
            reasons[folded.unfolded_because] += 1
        else:
            simulated += folded.classes
            of += unfolded.classes
    assert runs >= 440
    assert runs - reasons.total() >= 350
    assert simulated < of / 10
    for reason, count in reasons.items():
        assert count <= UNFOLDED[reason], reason
