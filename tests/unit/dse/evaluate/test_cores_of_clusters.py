"""Which cores of a cluster a study takes, and what it says and does while it has none."""

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from dse.evaluate import Crew, Dispatcher, Task
from dse.evaluate.workers import crew as crews
from dse.evaluate.workers.crew import Message
from dse.evaluate.workers.ray_cores import Claims, View, Wait, free_cores, spread
from simcore import SimulationError


def node(name: str, cores: float, *, alive: bool = True) -> dict[str, Any]:
    """A node as Ray describes it."""
    return {"NodeID": name, "Alive": alive, "Resources": {"CPU": cores} if cores else {}}


@pytest.mark.parametrize(
    ("free", "count", "given"),
    [
        ({"a": 2, "b": 2}, 2, {"a": 1, "b": 1}),
        ({"a": 2, "b": 1}, 2, {"a": 1, "b": 1}),
        ({"a": 4, "b": 1}, 3, {"a": 3}),
        ({"a": 4, "b": 2, "c": 0}, None, {"a": 4, "b": 2}),
        ({"a": 0}, 3, {}),
        ({"a": 3}, 0, {}),
    ],
)
def test_workers_go_where_most_cores_are_left(
    free: dict[str, int], count: int | None, given: dict[str, int]
) -> None:
    found = spread(free, count)
    assert {name: found.count(name) for name in found} == given


def test_free_cores_are_whole_ones_of_nodes_that_are_there() -> None:
    state = SimpleNamespace(
        available_resources_per_node=lambda: {"a": {"CPU": 2.5}, "b": {"memory": 1.0}}
    )
    ray = SimpleNamespace(_private=SimpleNamespace(state=state))
    free = free_cores(ray)
    assert free == {"a": 2, "b": 0}
    nodes = [node("a", 4.0), node("b", 2.0), node("c", 3.0), node("d", 0.0)]
    view = View(nodes=[*nodes, node("e", 8.0, alive=False)], free=free, seen_s=0.0)
    assert view.free_beside({}) == {"a": 2, "b": 0, "c": 3}, "c has just come"
    assert view.cores == {"a": 4, "b": 2, "c": 3}


def test_a_ray_that_cannot_tell_what_is_free_has_all_cores_that_are_not_ours() -> None:
    assert free_cores(SimpleNamespace()) is None
    view = View(nodes=[node("a", 4.0), node("b", 1.0)], free=None, seen_s=0.0)
    assert view.free_beside({"a": 3, "b": 2}) == {"a": 1, "b": 0}


def test_a_look_that_is_older_than_what_was_started_is_not_believed() -> None:
    claims, now_s = Claims(), time.monotonic()
    early = View(nodes=[], free={}, seen_s=now_s)
    assert claims.are_shown_by(early)
    claims.changed()
    assert not claims.are_shown_by(early)
    assert claims.are_shown_by(View(nodes=[], free={}, seen_s=now_s + 60.0))


def test_waiting_and_going_on_are_told_once_each() -> None:
    wait = Wait()
    assert wait.told(4, workers=2, asked=0) == []
    ((kind, text),) = wait.told(4, workers=0, asked=0)
    assert (kind, text) == ("waiting", wait.reason)
    assert "all cores of the Ray cluster (4) are taken by others" in text
    assert wait.told(4, workers=0, asked=0) == []
    assert wait.told(4, workers=1, asked=0) == [("went_on", "cores are free: 1 workers start")]
    assert wait.reason == ""
    assert [kind for kind, _ in wait.told(4, workers=1, asked=3)] == ["asked"]
    assert wait.told(4, workers=1, asked=2) == []
    assert wait.told(0, workers=0, asked=2) == [], "no core is there: that is another trouble"
    assert wait.reason == ""


class NobodyYet(Crew):
    """A crew whose cores others have."""

    reason = "all cores are taken"
    news: Sequence[Message] = ()

    @property
    def waiting(self) -> str:
        return self.reason

    @property
    def workers(self) -> int:
        return len(self.news)

    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        raise AssertionError("nobody is there")

    def receive(self, timeout_s: float) -> list[Message]:
        return []

    def replace(self, worker: int) -> bool:
        return False

    def close(self) -> None:
        """Nothing to end."""


def test_a_study_waits_without_end_for_cores_but_not_for_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crews, "PATIENCE_S", 0.05)
    crew = NobodyYet()
    dispatcher = Dispatcher(crew)
    dispatcher.submit([Task(number=0, design={})])
    end_s = time.monotonic() + 0.2
    while time.monotonic() < end_s:
        assert dispatcher.finished(0.01) == []
    assert dispatcher.is_deserted
    crew.reason = ""
    assert not dispatcher.is_deserted
    time.sleep(0.1)
    with pytest.raises(SimulationError, match="no machine has come, or none of the workers"):
        dispatcher.finished(0.0)
