"""Ends of collectives whose members begin at different times, known from one run to the next."""

import numpy as np
import pytest

from simcore.engines.collectives.ends import MemberEnds
from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.placement import Placement
from simcore.errors import InfeasibleError, SimulationError
from simcore.machine import Dimension, Platform
from simcore.machine.load import load_npu
from simcore.machine.system import System
from simcore.memo import Memo
from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, CollectiveOp, PassPhase

START_NS = np.array([5_000, 1_000, 5_000, 1_000], np.int64)


def ends_on(memo: Memo, *, gbytes_per_s: float = 50.0, algorithm: str = "ring") -> list[int]:
    """Ends of members on a machine of two dimensions, of which one is used."""
    sizes = {4: gbytes_per_s * 1e9, 2: 10e9}
    platform = Platform(
        npu=load_npu("a100_80"),
        dimensions=tuple(
            Dimension(topology="ring", npus=npus, bandwidth_bytes_per_s=rate, latency_s=1e-6)
            for npus, rate in sizes.items()
        ),
    )
    system = System(chunks=2, all_reduce=(algorithm, algorithm))
    kind, phase = CollectiveKind.ALL_REDUCE, PassPhase.GRADIENTS
    operation = CollectiveOp("sum", kind, Axis.DP, 1_000_000, phase)
    known = MemberEnds(lambda kind: platform, system, memo)
    placement = Placement(extent=(4, 1), stride=(1, 1))
    found: list[int] = known.ends(operation, placement, START_NS).tolist()
    return found


def test_ends_are_worked_out_once_for_all_runs_and_anew_on_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memo, alone = Memo(), [ends_on(Memo()), ends_on(Memo(), gbytes_per_s=20.0)]
    alone.append(ends_on(Memo(), algorithm="direct"))
    runs: list[int] = []
    run = Subsystem.collective_ends

    def counted(self: Subsystem, *arguments: object) -> object:
        runs.append(1)
        return run(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Subsystem, "collective_ends", counted)
    for _ in range(2):
        found = [ends_on(memo), ends_on(memo, gbytes_per_s=20.0), ends_on(memo, algorithm="direct")]
        assert found == alone
    assert len(runs) == 3
    assert alone[0] != alone[1] != alone[2] != alone[0]


def test_what_never_ends_is_told_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(self: Subsystem, *arguments: object) -> object:
        raise SimulationError("members wait for each other")

    monkeypatch.setattr(Subsystem, "collective_ends", stuck)
    memo = Memo()
    for _ in range(2):
        with pytest.raises(InfeasibleError, match="wait for each other"):
            ends_on(memo)
