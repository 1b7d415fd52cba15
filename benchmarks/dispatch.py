"""What sending designs to workers costs, and how many workers one driver can feed.

    python benchmarks/dispatch.py [--executors local ray] [--simulated 8 64 512 2000]

Measured: CPU time of all processes beyond the evaluations themselves, per evaluation that takes a
fixed time of CPU; the rate of two workers against one process without any (``kept_share``: of that
rate times the workers; ``cpu_share``: what the CPU times alone allow where driver and workers share
the cores, which a busy machine changes little). Simulated workers sleep in a heap instead of a
process, so that the driver alone is measured. The last line is one JSON object.
"""

import argparse
import heapq
import json
import os
import resource
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from dse.config import load_study_file
from dse.evaluate import Answer, Crew, Dispatcher, Evaluation, EvaluatorInput, Task, start_crew
from dse.evaluate.crew import Message
from dse.evaluate.worker import Worker

sys.path.insert(0, str(Path(__file__).parent))
STUDY = "p5_vit22b_64.yaml"
AHEAD = 512
"""Designs under way per worker: ``search.window`` of a study of such short evaluations."""


class SleepingCrew(Crew):
    """As many workers as you like, each busy for a given time per design, on one clock."""

    def __init__(self, count: int, evaluation_s: float) -> None:
        self._count, self._evaluation_s = count, evaluation_s
        self._free_s = [0.0] * count
        self._due: list[tuple[float, int, int]] = []
        self._chunks: list[deque[Sequence[Task]]] = [deque() for _ in range(count)]
        self._unheard = list(range(count))
        self._sent = 0

    @property
    def workers(self) -> int:
        return self._count

    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        start_s = max(time.monotonic(), self._free_s[worker])
        self._free_s[worker] = start_s + self._evaluation_s * len(chunk)
        self._chunks[worker].append(chunk)
        self._sent += 1
        heapq.heappush(self._due, (self._free_s[worker], self._sent, worker))

    def receive(self, timeout_s: float) -> list[Message]:
        if self._unheard:
            heard, self._unheard = self._unheard, []
            return [Message(worker=worker, machine="here") for worker in heard]
        if self._due:
            time.sleep(min(max(self._due[0][0] - time.monotonic(), 0.0), timeout_s))
        messages = []
        while self._due and self._due[0][0] <= time.monotonic():
            _, _, worker = heapq.heappop(self._due)
            messages.append(Message(worker=worker, answers=self._answers(worker)))
        return messages

    def _answers(self, worker: int) -> tuple[Answer, ...]:
        found = Evaluation(state="complete", duration_s=self._evaluation_s)
        return tuple(
            Answer(number=task.number, evaluation=found, worker=f"w{worker}")
            for task in self._chunks[worker].popleft()
        )

    def replace(self, worker: int) -> bool:
        raise AssertionError("sleeping workers do not die")

    def close(self) -> None:
        self._due.clear()


def run_tasks(dispatcher: Dispatcher, tasks: list[Task], ahead: int) -> None:
    """Evaluate all, with at most *ahead* under way, as a study does."""
    rest, under_way = deque(tasks), 0
    while rest or under_way:
        more = [rest.popleft() for _ in range(min(ahead - under_way, len(rest)))]
        dispatcher.submit(more)
        under_way += len(more) - len(dispatcher.finished(0.25))
        under_way = under_way if under_way >= 0 else 0


def feed_simulated(workers: int, evaluation_s: float, design: dict) -> dict[str, float]:
    """Share of the workers' time that is used, and the driver's CPU per evaluation."""
    budget_s = 3.0
    count = int(min(budget_s * workers / evaluation_s, 150_000))
    tasks = [Task(number=n, design=design) for n in range(count)]
    crew = SleepingCrew(workers, evaluation_s)
    with Dispatcher(crew) as dispatcher:
        dispatcher._mean_s["here"] = evaluation_s
        start_s, cpu_s = time.monotonic(), time.process_time()
        run_tasks(dispatcher, tasks, max(4096, 4 * workers))
        wall_s, cpu_s = time.monotonic() - start_s, time.process_time() - cpu_s
    return {
        "workers": workers,
        "evaluation_ms": 1e3 * evaluation_s,
        "evaluations": count,
        "driver_us_per_evaluation": 1e6 * cpu_s / count,
        "used_share": count * evaluation_s / (workers * wall_s),
        "fed_workers": evaluation_s / (cpu_s / count),
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
    design = next(load_study_file(STUDY).space.designs())
    for workers in options.simulated:
        for evaluation_s in (0.001, 0.01, 1.0):
            found["simulated"].append(feed_simulated(workers, evaluation_s, design))
            print(found["simulated"][-1], file=sys.stderr)
    for workers in options.sleeping:
        found["overhead"].append(overhead("local", 0.01, 300 * workers, workers, sleeps=True))
        print(found["overhead"][-1], file=sys.stderr)
    for executor in options.executors:
        for evaluation_s in (0.001, 0.005):
            found["overhead"].append(overhead(executor, evaluation_s, options.count, 2))
            print(found["overhead"][-1], file=sys.stderr)
    print(json.dumps({"benchmark": "dispatch", **found}))


if __name__ == "__main__":
    main()
