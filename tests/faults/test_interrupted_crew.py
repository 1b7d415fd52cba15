"""A driver that is told to stop while it puts a new worker in a dead one's place."""

import os
import signal
from multiprocessing import active_children
from pathlib import Path

import pytest

from dse.evaluate.workers.local_pool import LocalCrew
from dse.study.compile import load_study_file


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_crew_that_is_stopped_while_a_worker_is_replaced_ends(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = LocalCrew(load_study_file("p5_vit22b_64.yaml").evaluator_input, workers=2)
    start = LocalCrew._start

    def interrupted(self: LocalCrew, index: int) -> object:
        if at == "after":
            start(self, index)
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalCrew, "_start", interrupted)
    ours = {seat.process.pid for seat in crew._seats}
    os.kill(crew._seats[0].process.pid or 0, signal.SIGKILL)
    with pytest.raises(KeyboardInterrupt):
        crew.replace(0)
    crew.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in ours)
    assert not ours & {child.pid for child in active_children()}


def test_what_a_worker_held_goes_with_it() -> None:
    crew = LocalCrew(load_study_file("p5_vit22b_64.yaml").evaluator_input, workers=1)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        crew.replace(0)
    assert len(os.listdir("/proc/self/fd")) <= before
    crew.close()
