"""Who is blamed for a worker that died, where nobody knows what it was busy with."""

from collections.abc import Sequence

from dse.evaluate import Answer, Crew, Dispatcher, Evaluation, Task
from dse.evaluate.workers.crew import Death, Message


class DyingCrew(Crew):
    """One worker that dies over some chunks: so often over a chunk with the design *number*."""

    workers = 1

    def __init__(self, number: int, deaths: int) -> None:
        self._number, self._deaths = number, deaths
        self._chunks: list[Sequence[Task]] = []
        self._is_new = True

    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        self._chunks.append(chunk)

    def receive(self, timeout_s: float) -> list[Message]:
        if self._is_new:
            self._is_new = False
            return [Message(worker=0, machine="here")]
        if not self._chunks:
            return []
        chunk = self._chunks.pop(0)
        if self._deaths and any(task.number == self._number for task in chunk):
            self._deaths -= 1
            return [Message(worker=0, death=Death(failure="crash", reason="gone"))]
        found = Evaluation(state="complete", duration_s=1e-4)
        return [
            Message(
                worker=0,
                answers=tuple(
                    Answer(number=t.number, evaluation=found, worker="w0") for t in chunk
                ),
            )
        ]

    def replace(self, worker: int) -> bool:
        self._chunks.clear()
        self._is_new = True
        return True

    def close(self) -> None:
        """Nothing to end."""


def outcomes(number: int, deaths: int) -> dict[int, Evaluation]:
    found: dict[int, Evaluation] = {}
    with Dispatcher(DyingCrew(number, deaths)) as dispatcher:
        dispatcher.submit([Task(number=n, design={}) for n in range(200)])
        for _ in range(2000):
            for answer in dispatcher.finished(0.0):
                assert answer.number not in found
                found[answer.number] = answer.evaluation
    assert sorted(found) == list(range(200))
    return found


def test_a_worker_killed_over_a_chunk_and_again_over_one_design_fails_nobody() -> None:
    found = outcomes(150, deaths=2)
    assert {e.state for e in found.values()} == {"complete"}
    assert found[150].attempts == 3
    assert max(e.attempts for number, e in found.items() if number != 150) == 2


def test_a_design_that_ends_every_worker_fails_alone() -> None:
    found = outcomes(150, deaths=99)
    assert {number for number, e in found.items() if e.state == "failed"} == {150}
    assert found[150].attempts == 3
    assert found[150].failure == "crash"
    assert "tried 3 times" in found[150].reason
