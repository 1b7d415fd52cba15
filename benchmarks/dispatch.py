"""What sending designs to workers costs, and how many workers one driver can feed.

    python benchmarks/dispatch.py [--executors local ray] [--simulated 8 64 512 2000]

Measured: CPU time of all processes beyond the evaluations themselves, per evaluation that takes a
fixed time of CPU; the rate of two workers against one process without any (``kept_share``: of that
rate times the workers; ``cpu_share``: what the CPU times alone allow where driver and workers share
the cores, which a busy machine changes little). Simulated workers sleep in a heap instead of a
process, so that the driver alone is measured, and held against a queueing model. The last line is
one JSON object.
"""

import argparse
import heapq
import json
import os
import pickle
import resource
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from queueing import fed_workers, least_rate, most_rate

from dse.evaluate import Answer, Crew, Dispatcher, Evaluation, EvaluatorInput, Task, start_crew
from dse.evaluate.workers.crew import Message
from dse.evaluate.workers.worker import Worker
from dse.provenance import Provenance
from dse.store.folder import StudyFolder
from dse.study.compile import Study, load_study_file
from dse.study.trials import Trial

STUDY = "p5_vit22b_64.yaml"
AHEAD = 512
"""Designs under way per worker: ``search.window`` of a study of such short evaluations."""


class SleepingCrew(Crew):
    """As many workers as you like, each busy for a given time per design, without a process.

    Its clock is the CPU time of the driver plus all that it would have slept, so that neither
    other programs on this machine nor long evaluations disturb the measurement.
    """

    def __init__(self, count: int, evaluation_s: float, found: Evaluation) -> None:
        self._count, self._evaluation_s = count, evaluation_s
        self._found = found
        self._slept_s = 0.0
        self._free_s = [0.0] * count
        self._due: list[tuple[float, int, int]] = []
        self._chunks: list[deque[Sequence[Task]]] = [deque() for _ in range(count)]
        self._unheard = list(range(count))
        self.messages = 0

    @property
    def workers(self) -> int:
        return self._count

    def now_s(self) -> float:
        return time.process_time() + self._slept_s

    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        pickle.dumps(list(chunk), 5)  # what a message costs
        start_s = max(self.now_s(), self._free_s[worker])
        self._free_s[worker] = start_s + self._evaluation_s * len(chunk)
        self._chunks[worker].append(chunk)
        self.messages += 1
        heapq.heappush(self._due, (self._free_s[worker], self.messages, worker))

    def receive(self, timeout_s: float) -> list[Message]:
        if self._unheard:
            heard, self._unheard = self._unheard, []
            return [Message(worker=worker, machine="here") for worker in heard]
        if self._due:
            self._slept_s += max(self._due[0][0] - self.now_s(), 0.0)
        messages, now_s = [], self.now_s()
        while self._due and self._due[0][0] <= now_s:
            _, _, worker = heapq.heappop(self._due)
            messages.append(Message(worker=worker, answers=self._answers(worker)))
        return messages

    def _answers(self, worker: int) -> tuple[Answer, ...]:
        chunk = self._chunks[worker].popleft()
        pickle.loads(self._message(len(chunk)))
        return tuple(
            Answer(number=task.number, evaluation=self._found, worker=f"w{worker}")
            for task in chunk
        )

    @cache  # noqa: B019 (one crew per measurement)
    def _message(self, length: int) -> bytes:
        answer = Answer(number=0, evaluation=self._found, worker="w0")
        return pickle.dumps([replace(answer, number=n) for n in range(length)], 5)

    def replace(self, worker: int) -> bool:
        raise AssertionError("sleeping workers do not die")

    def close(self) -> None:
        self._due.clear()


def run_tasks(
    dispatcher: Dispatcher,
    tasks: list[Task],
    ahead: int,
    take: Callable[[Answer], None] = lambda answer: None,
) -> None:
    """Evaluate all, with at most *ahead* under way, as a study does."""
    rest, under_way = deque(tasks), 0
    while rest or under_way:
        more = [rest.popleft() for _ in range(min(ahead - under_way, len(rest)))]
        dispatcher.submit(more)
        answers = dispatcher.finished(0.25)
        for answer in answers:
            take(answer)
        under_way += len(more) - len(answers)


def feed_simulated(study: Study, workers: int, evaluation_s: float) -> dict[str, float]:
    """The driver of *workers* that sleep: it sends, reads and stores; proposing is left out.

    Returns:
        Its CPU time per evaluation, and the rate beside the least and the most of the queue.
    """
    count = int(min(workers * max(20, 2.0 / evaluation_s), 60_000))
    design = next(study.space.designs())
    tasks = [Task(number=n, design=design) for n in range(count)]
    found = Worker(study.evaluator_input, "w0").evaluate(tasks[:1])[0].evaluation
    crew = SleepingCrew(workers, evaluation_s, replace(found, duration_s=evaluation_s))
    with tempfile.TemporaryDirectory() as scratch, StudyFolder(Path(scratch) / "study") as folder:
        folder.open(study, Provenance.of(study))

        def take(answer: Answer) -> None:
            trial = Trial(number=answer.number, design=design, evaluation=answer.evaluation)
            folder.writer.add(trial)

        with Dispatcher(crew) as dispatcher:
            dispatcher._mean_s["here"] = evaluation_s
            start_s, cpu_s = crew.now_s(), time.process_time()
            run_tasks(dispatcher, tasks, max(4096, 4 * workers), take)
            spent_s, cpu_s = crew.now_s() - start_s, time.process_time() - cpu_s
        folder.close()
    driver_s, chunk = cpu_s / count, max(count // crew.messages, 1)
    return {
        "workers": workers,
        "evaluation_ms": 1e3 * evaluation_s,
        "driver_us": 1e6 * driver_s,
        "designs_per_message": chunk,
        "least_per_s": least_rate(workers, evaluation_s, driver_s, chunk),
        "evaluations_per_s": count / spent_s,
        "most_per_s": most_rate(workers, evaluation_s, driver_s),
        "fed_workers": fed_workers(evaluation_s, driver_s),
    }


def overhead(
    executor: str, evaluation_s: float, count: int, workers: int, *, sleeps: bool = False
) -> dict[str, float]:
    """CPU of all processes beyond the evaluations, per evaluation, and share of use."""
    from busy import BusyInput  # under the name by which workers find it

    study = load_study_file(STUDY)
    what = BusyInput.like(study.evaluator_input, evaluation_s, sleeps=sleeps)
    design = next(study.space.designs())
    tasks = [Task(number=n, design=design) for n in range(count)]
    alone_s = in_process_s(what, tasks[:200]) if not sleeps else evaluation_s
    with Dispatcher(start_crew(executor, what, workers=workers)) as dispatcher:
        run_tasks(dispatcher, tasks[: 60 * workers], 64)  # all are up and warm
        driver_s, start_s = time.process_time(), time.monotonic()
        before = _tree_cpu_s()
        run_tasks(dispatcher, tasks, AHEAD * workers)
        wall_s, driver_s = time.monotonic() - start_s, time.process_time() - driver_s
        ours = _tree_cpu_s() - before
    return {
        "executor": executor,
        "workers": workers,
        "evaluation_ms": 1e3 * evaluation_s,
        "driver_us": 1e6 * driver_s / count,
        "all_us": 1e6 * (ours / count - (0.0 if sleeps else evaluation_s)),
        "evaluations_per_s": count / wall_s,
        "kept_share": count * alone_s / (workers * wall_s),
        "cpu_share": alone_s * count / max(ours, alone_s * count),
    }


def in_process_s(what: EvaluatorInput, tasks: list[Task]) -> float:
    """CPU time per evaluation of a process that does nothing else."""
    worker = Worker(what, "w0")
    worker.evaluate(tasks[:10])
    start_s = time.process_time()
    worker.evaluate(tasks)
    return (time.process_time() - start_s) / len(tasks)


def _tree_cpu_s() -> float:
    """CPU time of this process and all below it, Ray's own ones included."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):  # it has just ended
            continue
        pid = int(path.parent.name)
        parents[pid], ticks[pid] = int(words[1]), int(words[11]) + int(words[12])
    ours, size = {os.getpid()}, 0
    while len(ours) > size:
        size = len(ours)
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    return sum(ticks[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executors", nargs="*", default=["local", "ray"])
    parser.add_argument("--simulated", nargs="*", type=int, default=[8, 64, 512, 2000])
    parser.add_argument("--sleeping", nargs="*", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--count", type=int, default=1500)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    found: dict[str, list[dict[str, float]]] = {"overhead": [], "simulated": []}
    study = load_study_file(STUDY)
    for workers in options.simulated:
        for evaluation_s in (0.001, 0.01, 1.0):
            found["simulated"].append(feed_simulated(study, workers, evaluation_s))
            print(found["simulated"][-1], file=sys.stderr)
    for executor in options.executors:
        for workers in options.sleeping:
            row = overhead(executor, 0.01, 300 * workers, workers, sleeps=True)
            found["overhead"].append(row)
            print(row, file=sys.stderr)
        for evaluation_s in (0.001, 0.005):
            found["overhead"].append(overhead(executor, evaluation_s, options.count, 2))
            print(found["overhead"][-1], file=sys.stderr)
    print(json.dumps({"benchmark": "dispatch", **found}))


if __name__ == "__main__":
    main()
