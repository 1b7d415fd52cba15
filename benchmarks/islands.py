"""Share of their time that islands are busy, up to thousands of them, and the driver's share.

    python benchmarks/islands.py [--islands 10 100 1000 2000] [--page FILE] [--figure FILE]

Islands sleep in a heap instead of a process: their clock is the CPU time of the driver plus all
that it would have slept; their batches vary in length. The driver is the real one: it hands out
rounds, reads reports, stores and folds trials, packs the news of each round. A stand-in proposes:
reports are of 500 real designs, feasible, with objectives as chance has them; all designs are
taken for new ones. Large news lie where islands fetch them, as on Ray. A batch is what an island
does in a round, 1 s long; a case ends after eight rounds, or fewer, at least three, where these are
long. Packed rows stay packed: what becomes of them at the end of a study is not counted.
Efficiency is the part of the time that islands are busy, from the start to the end of the last
batch, beside what the model gives:

    efficiency = batch / max(batch, islands * (message + trials per batch * trial))

with the CPU time of the driver per message and per trial, from a fit to all rows. The last line is
one JSON object.
"""

import argparse
import heapq
import json
import pickle
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from page import markdown_table, write_table

from dse.evaluate import Crew, Limits, Task
from dse.evaluate.workers.crew import Message, Shared
from dse.evaluate.workers.worker import Worker
from dse.provenance import Provenance
from dse.run.ending import Ending
from dse.run.islands.archipelago import Archipelago, Bounds
from dse.run.islands.messages import Made, Order, Report
from dse.run.islands.rounds import Rounds
from dse.run.terms import Hooks
from dse.store.folder import StudyFolder
from dse.store.packed import pack_rows
from dse.store.rows import row_of
from dse.study.compile import Study, load_study_file
from dse.study.kept import KeptTrials
from dse.study.stretch import outcomes_of
from dse.study.trials import Trial
from simcore import rare_collection

STUDY = "p5_vit22b_64.yaml"
BATCH_S = 1.0
EVALUATIONS_MS = (1, 10, 100)
SPREAD = 0.03
"""Standard deviation of the time of a batch, as a part of it: ten trials that vary by 10 % each."""
ROUNDS, LEAST_ROUNDS = 8, 3
MOST_TRIALS, LARGEST = 800_000, 3_000_000
"""Trials of a case, of more rounds than the least and of the least."""
FOUND = 500
"""Designs whose rows are reported."""
BY_VALUE_BYTES = 100_000
"""Bytes of news up to which each order holds them."""


class SleepingIslands(Crew):
    """A worker for each island, busy for a given time per trial, without a process."""

    def __init__(self, rounds: Rounds, trial_s: float, found: Sequence[Trial]) -> None:
        self._rounds, self._count = rounds, rounds.islands
        self._trial_s, self._found = trial_s, found
        self._slept_s, self._random = 0.0, Random(1)
        self._due: list[tuple[float, int, list[Order]]] = []
        self._unheard = list(range(self._count))
        self.busy_s = self.prepared_s = self.last_s = 0.0
        self.messages = 0

    @property
    def workers(self) -> int:
        return self._count

    def now_s(self) -> float:
        return self.driver_s() + self._slept_s

    def driver_s(self) -> float:
        """CPU time, less that of what islands would do."""
        return time.process_time() - self.prepared_s

    def send(self, worker: int, chunk: Sequence[Order]) -> None:
        pickle.dumps(list(chunk), 5)  # what a message costs
        size = max(0.1, self._random.gauss(1.0, SPREAD))
        spent_s = size * sum(self._trial_s * order.share for order in chunk)
        self.busy_s += spent_s
        self.messages += 1
        heapq.heappush(self._due, (self.now_s() + spent_s, worker, list(chunk)))

    def receive(self, timeout_s: float) -> list[Message]:
        if self._unheard:
            heard, self._unheard = self._unheard, []
            return [Message(worker=worker, machine=f"m{worker}") for worker in heard]
        if self._due:
            self._slept_s += min(max(self._due[0][0] - self.now_s(), 0.0), timeout_s)
        messages, now_s = [], self.now_s()
        while self._due and self._due[0][0] <= now_s:
            self.last_s, worker, chunk = heapq.heappop(self._due)
            reports = tuple(self._report(order) for order in chunk)
            messages.append(Message(worker=worker, answers=reports))
        return messages

    def _report(self, order: Order) -> Report:
        start_s = time.process_time()
        packed = self._message(order)
        self.prepared_s += time.process_time() - start_s
        found: Report = pickle.loads(packed)
        return found

    def _message(self, order: Order) -> bytes:
        """Message of an island, whose own values go before the driver's time counts."""
        numbers = self._rounds.numbers(order.island, order.turn)[: order.share]
        trials, kept = [self._trial(number) for number in numbers], KeptTrials()
        kept.extend(trials)
        known = [self._random.getrandbits(62) + 1 for _ in range(2 * order.share)]
        made = Made(
            trials=kept,
            outcomes=outcomes_of(trials, known, tuple(trials[0].evaluation.objectives)),
            rows=pack_rows([row_of("trial", trial) for trial in trials], kept.named()),
        )
        report = Report(
            island=order.island,
            turn=order.turn,
            count=order.share,
            made=Shared(pickle.dumps(made, 5)),
        )
        return pickle.dumps(report, 5)

    def _trial(self, number: int) -> Trial:
        """The real trial, as good as chance has it."""
        trial = self._random.choice(self._found)
        found = trial.evaluation
        near = {name: self._random.uniform(1, 9) * v for name, v in found.objectives.items()}
        return replace(trial, number=number, evaluation=replace(found, objectives=near))

    def share(self, value: Any) -> Shared:
        """What is large lies in the store of Ray's objects, packed once for all."""
        packed = pickle.dumps(value)
        return Shared(packed if len(packed) <= BY_VALUE_BYTES else b"its place in the store")

    def replace(self, worker: int) -> bool:
        raise AssertionError("sleeping islands do not die")

    def close(self) -> None:
        self._due.clear()


def found_trials(study: Study) -> list[Trial]:
    """Real trials of designs apart, feasible as most are before long, which stand for all."""
    worker, found = Worker(study.evaluator_input, "w0"), list[Trial]()
    for design in islice(study.space.designs(), 0, None, 13):
        evaluation = worker.evaluate([Task(number=0, design=design)])[0].evaluation
        if evaluation.state == "complete":
            found.append(Trial(number=0, design=design, evaluation=evaluation, worker="node.w0"))
        if len(found) == FOUND:
            break
    return found


def run_islands(
    study: Study, found: Sequence[Trial], islands: int, evaluation_ms: float
) -> dict[str, float]:
    """One study of sleeping islands: efficiency, and CPU time of the driver."""
    length = round(BATCH_S * 1e3 / evaluation_ms)
    rounds = Rounds(islands=islands, length=length)
    turns = max(LEAST_ROUNDS, min(ROUNDS, MOST_TRIALS // rounds.size(0)))
    trials = rounds.begin(turns)
    crew = SleepingIslands(rounds, 1e-3 * evaluation_ms, found)
    ending = Ending(trials=trials, window=length, trims=False)
    signs = study.goals.signs_by_name
    bounds = Bounds(rounds=rounds, limit=trials, ending=ending, signs=signs)
    with tempfile.TemporaryDirectory() as scratch, StudyFolder(Path(scratch) / "study") as folder:
        folder.open(study, Provenance.of(study))
        hooks = Hooks(
            finished=folder.writer.add,
            filed=folder.writer.add_many,
            folded=lambda trial, duplicates: None,
            stopping=lambda: False,
        )
        archipelago = Archipelago(bounds, hooks, ())
        start_s, cpu_s = crew.now_s(), crew.driver_s()
        with rare_collection():
            archipelago.run(crew, Limits(), folder.writer.flush_if_due, folder.writer.event)
        spent_s, cpu_s = crew.last_s - start_s, crew.driver_s() - cpu_s
    assert len(archipelago.trials) == trials
    return {
        "islands": islands,
        "evaluation_ms": evaluation_ms,
        "trials_per_batch": length,
        "turns": turns,
        "messages": crew.messages,
        "trials": trials,
        "driver_cpu_s": cpu_s,
        "efficiency": crew.busy_s / (islands * spent_s),
    }


def fitted(rows: Sequence[dict[str, float]]) -> tuple[float, float]:
    """CPU seconds of the driver per message and per trial, by least squares of relative errors."""
    counts = np.array([[row["messages"], row["trials"]] for row in rows])
    spent_s = np.array([row["driver_cpu_s"] for row in rows])
    scaled, ones = counts / spent_s[:, None], np.ones(len(rows))
    message_s, trial_s = np.linalg.lstsq(scaled, ones, rcond=None)[0]
    return max(float(message_s), 0.0), float(trial_s)


def modelled(islands: float, trials: float, message_s: float, trial_s: float) -> float:
    """Efficiency of islands whose batches take ``BATCH_S``."""
    driver_s = islands * (message_s + trials * trial_s)
    return BATCH_S / max(BATCH_S, driver_s)


def draw(rows: Sequence[dict[str, float]], message_s: float, trial_s: float, path: Path) -> None:
    """Efficiency over islands: points measured, lines of the model."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "islands"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    counts = np.geomspace(10, 4000, 200)
    for color, evaluation_ms in zip(("C0", "C1", "C2"), EVALUATIONS_MS, strict=True):
        length = round(BATCH_S * 1e3 / evaluation_ms)
        values = [modelled(count, length, message_s, trial_s) for count in counts]
        axes.plot(counts, values, color=color, label=f"{length:,} trials of {evaluation_ms} ms")
        own = [row for row in rows if row["evaluation_ms"] == evaluation_ms]
        axes.plot(
            [row["islands"] for row in own], [row["efficiency"] for row in own], "o", color=color
        )
    axes.axhline(0.9, color="0.6", linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("islands, in batches of 1 s")
    axes.set_ylabel("part of the time that islands are busy")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--islands", nargs="*", type=int, default=[10, 30, 100, 300, 1000, 2000])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    study = load_study_file(STUDY)
    found = found_trials(study)
    run_islands(study, found, 10, 100)  # loads the kernels
    rows = [
        run_islands(study, found, islands, evaluation_ms)
        for evaluation_ms in EVALUATIONS_MS
        for islands in options.islands
        if LEAST_ROUNDS * islands * BATCH_S * 1e3 / evaluation_ms <= LARGEST
    ]
    message_s, trial_s = fitted(rows)
    if options.figure:
        draw(rows, message_s, trial_s, options.figure)
    header = ["evaluation, ms", "trials per batch", "islands", "driver, us per trial"]
    header += ["islands busy", "model"]
    cells = [
        [
            str(row["evaluation_ms"]),
            row["trials_per_batch"],
            row["islands"],
            1e6 * row["driver_cpu_s"] / row["trials"],
            f"{row['efficiency']:.1%}",
            f"{modelled(row['islands'], row['trials_per_batch'], message_s, trial_s):.1%}",
        ]
        for row in rows
    ]
    table = markdown_table(header, cells)
    if options.page:
        write_table(options.page, "islands", table)
    print(table)
    per = {"message_us": 1e6 * message_s, "trial_us": 1e6 * trial_s}
    print(json.dumps({"benchmark": "islands", **per, "rows": rows}))


if __name__ == "__main__":
    main()
