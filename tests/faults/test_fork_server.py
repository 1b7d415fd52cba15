"""The process that forks workers: what they have from it, and that they start if it is killed."""

import os
import subprocess
import sys
from multiprocessing import Process

import pytest

from dse.evaluate.workers.forked import start_worker
from simcore import SimulationError

KILLED_WHILE_ASKED = """
import multiprocessing, os, signal, threading, time
from multiprocessing import forkserver
from dse.evaluate.workers.forked import start_worker

def kill(server, is_stopped):
    os.kill(server, signal.SIGSTOP)  # it can be asked, and does not answer
    is_stopped.set()
    time.sleep(0.3)
    os.kill(server, signal.SIGKILL)

if __name__ == "__main__":
    forkserver.ensure_running()
    server, is_stopped = forkserver._forkserver._forkserver_pid, threading.Event()
    threading.Thread(target=kill, args=(server, is_stopped)).start()
    process = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(0,))
    is_stopped.wait()
    start_worker(process)
    process.join()
    is_another = server != forkserver._forkserver._forkserver_pid
    print("ended with", process.exitcode, "by another:", is_another)
"""


def test_a_worker_starts_though_its_server_is_killed_while_asked() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_ASKED], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "ended with 0 by another: True\n", done.stdout + done.stderr


def test_servers_that_end_again_and_again_are_a_sentence() -> None:
    class Unanswered(Process):
        def start(self) -> None:
            raise EOFError("unexpected EOF")

    with pytest.raises(SimulationError, match="workers cannot start: the process that starts"):
        start_worker(Unanswered())


IMPORTED_BY_A_WORKER = """
import sys
import dse.evaluate.workers.preloaded

known = set(sys.modules)
from small_study import STUDY
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.study.compile import compile_study

study = compile_study(STUDY)
evaluator = build_evaluator(study.evaluator_input)
assert any(evaluate(evaluator, study.goals, one).metrics for one in study.space.designs())
layers = ("simcore.engines", "simcore.kernels.stages", "simcore.simulation", "simcore.validation")
print([name for name in set(sys.modules) - known if name.startswith(layers)])
"""


def test_a_worker_imports_no_engine_that_its_server_could_have_imported() -> None:
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_BY_A_WORKER],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr
