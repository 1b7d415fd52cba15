"""Starts Ray, or joins a cluster, without a sound; says in one sentence why it could not."""

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from dse.evaluate.workers.ray_cores import Nodes, View, free_cores
from simcore import ConfigError, SimulationError

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
    # a busy machine takes longer to start a node than Ray expects
    "RAY_agent_register_timeout_ms": "60000",
}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Without clusters, which is what this switch says, Ray listens on the loopback address only."""

_JOINING = {"RAY_NUM_REDIS_GET_RETRIES": "5"}
"""Ray asks a head that refuses it 20 times, up to 5 s each; we know that it is there."""

REACH_S = 5.0
"""Time that a cluster may take to answer."""

_STORE_BYTES = 128 * 1024 * 1024
_ATTEMPTS = 2
_LOCAL = "127.0.0.1"
_STAMP = re.compile(r"^\[?[\d\-: ,.]+ [A-Z] \d+ \d+\]?( \([^)]*\))? \S+:\d+: ")


def connect(workers: int | None, address: str | None) -> tuple[Any, bool]:
    """Ray, and whether this call started or joined it.

    Args:
        workers: CPUs of a Ray that is started here, which listens to this machine only.
        address: A running cluster, as ``host:port`` or ``auto``; None: start one here.

    Raises:
        ConfigError: Ray is missing, cannot start or does not answer; says why, and where its log
            lies.
    """
    for name, value in (_QUIET | (_JOINING if address else _LOOPBACK)).items():
        os.environ.setdefault(name, value)
    if address is None and "ray" not in sys.modules:
        _ask_for_token()
    try:
        import ray
    except ImportError:
        rule = "ray needs the package ray; install it or use local"
        raise ConfigError("execution.executor", rule, got="no such package") from None
    if ray.is_initialized():
        return ray, False
    _silence(ray)
    if address is not None:
        _check_reachable(address)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address is None:
        _stay_on_loopback(ray)
        options |= {
            "address": "local",
            "num_cpus": workers,
            "include_dashboard": False,
            "object_store_memory": _STORE_BYTES,
            "_node_ip_address": _LOCAL,
        }
    else:
        options["address"] = address
    with _signals_kept(), _warnings_kept(address is not None):
        _start(ray, options)
    return ray, True


class _Kept:
    """Blocks that keep Ray up, and whether it is ours to end after the last of them."""

    blocks = 0
    is_ours = False


@contextmanager
def ray_kept_up() -> Iterator[None]:
    """Let crews that follow each other share one start of Ray, which takes seconds."""
    _Kept.blocks += 1
    try:
        yield
    finally:
        _Kept.blocks -= 1
        if _Kept.is_ours and not _Kept.blocks:
            _Kept.is_ours = False
            sys.modules["ray"].shutdown()


def leave(ray: Any) -> None:
    """End the Ray that ``connect`` started, or leave the cluster; within ``ray_kept_up`` later."""
    if _Kept.blocks:
        _Kept.is_ours = True
    else:
        ray.shutdown()


def _ask_for_token() -> None:
    """Let a Ray of our own refuse other users of this machine, who can reach its address.

    Ray reads this when it is imported; later it takes a token of its own, which it keeps in a file
    that others may be able to read.
    """
    if "RAY_AUTH_MODE" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", token_hex(32))
        os.environ["RAY_AUTH_MODE"] = "token"


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM mean what they did: Ray takes them over when it starts."""
    is_main = threading.current_thread() is threading.main_thread()
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        if is_main and handler is not None:
            signal.signal(number, handler)


@contextmanager
def _warnings_kept(is_joining: bool) -> Iterator[None]:
    """Keep what Ray's own code writes once a second while a cluster refuses it.

    It writes past Python, and to raise its level of warnings makes it write that.
    """
    if not is_joining:
        yield
        return
    sys.stderr.flush()
    terminal = os.dup(2)
    try:
        with tempfile.TemporaryFile() as kept:
            os.dup2(kept.fileno(), 2)
            yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _stay_on_loopback(ray: Any) -> None:
    """Do what ``_LOOPBACK`` asks for, also where Ray was imported, and has read it, before."""
    constants: Any = getattr(getattr(ray, "_private", None), "ray_constants", None)
    if hasattr(constants, "ENABLE_RAY_CLUSTER"):
        constants.ENABLE_RAY_CLUSTER = False


def _silence(ray: Any) -> None:
    """Let Ray not print what its nodes report about deaths; that is ours to tell, and in its logs.

    Ray has no option for it (``log_to_driver`` is about the output of workers only).
    """
    worker: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda data, ignore_prefix: None


def _start(ray: Any, options: dict[str, Any]) -> None:
    is_own = options["address"] == "local"
    for attempt in range(_ATTEMPTS):
        started_unix_s = time.time()
        try:
            ray.init(**options)
        except Exception as error:  # Ray raises whatever went wrong in any of its processes
            ray.shutdown()
            if is_own and attempt + 1 < _ATTEMPTS:
                continue
            cause, log = _true_cause(error, started_unix_s)
            where = "execution.executor" if is_own else "execution.address"
            rule = f"Ray must start here (--executor local does without it; Ray's log: {log})"
            if not is_own:
                rule = (
                    "must be the head of a running Ray cluster, as host:port or auto (one that "
                    "asks for a token wants RAY_AUTH_MODE=token and its RAY_AUTH_TOKEN here too)"
                )
            raise ConfigError(where, rule, got=cause) from None
        return


def _true_cause(error: Exception, started_unix_s: float) -> tuple[str, str]:
    """The last thing that the Ray node of this start wrote before it gave up, and where."""
    sessions = Path(os.environ.get("RAY_TMPDIR", tempfile.gettempdir())) / "ray"
    logs = sorted(
        (
            path
            for name in ("raylet.err", "raylet.out", "gcs_server.err", "gcs_server.out")
            for path in sessions.glob(f"session_2*/logs/{name}")
            if path.stat().st_mtime >= started_unix_s
        ),
        key=lambda path: (not path.name.endswith(".err"), -path.stat().st_mtime),
    )
    for path in logs:
        lines = path.read_text(errors="replace").splitlines()
        told = [line for line in lines if " C " in line or " E " in line or "Check failed" in line]
        if told:
            return _STAMP.sub("", told[-1])[:300], str(path)
    return first_line(error), str(sessions / "session_latest" / "logs")


def _check_reachable(address: str) -> None:
    """See whether something listens at ``host:port``, where Ray itself would try for minutes."""
    if address.startswith("ray://"):
        rule = "must be host:port of the head, from a machine of the cluster (no Ray client)"
        raise ConfigError("execution.address", rule, got=address)
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=REACH_S).close()
    except (OSError, OverflowError) as error:
        rule = "must be host:port of the head of a running Ray cluster"
        raise ConfigError("execution.address", rule, got=f"{address} ({error})") from None


def first_line(error: BaseException) -> str:
    """The first line of an error that has something to say."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


LOOK_S = 2.0
"""Time between two looks at the nodes of the cluster."""

_SILENT_S = 45.0  # a head that takes connections but answers nothing
_REACH_S = 1.0
_END_S = 50.0  # for writing the study before Ray ends the process
_RAYS_SETTING = "RAY_gcs_rpc_server_reconnect_timeout_s"
_RAYS_DEFAULT_S = 60.0


def grace_s() -> float:
    """Time that the head of a cluster may refuse connections, from when Ray gives it up."""
    try:
        ray_s = float(os.environ.get(_RAYS_SETTING, _RAYS_DEFAULT_S))
    except ValueError:
        ray_s = _RAYS_DEFAULT_S
    return max(ray_s - _END_S, ray_s / 6)


class RayHead:
    """The head of the cluster that this process has joined.

    Attributes:
        address: Where it listens, as ``host:port``.
    """

    def __init__(self, ray: Any, patience_s: float) -> None:
        self._ray, self._patience_s = ray, patience_s
        self.address: str = ray.get_runtime_context().gcs_address
        self._seen_s = time.monotonic()
        self._view = View(nodes=ray.nodes(), free=free_cores(ray), seen_s=self._seen_s)
        self._changed, self._wanted = threading.Condition(), threading.Event()
        self._is_left = False
        threading.Thread(target=self._watch, name="ray-head", daemon=True).start()

    def nodes(self, *, now: bool = False) -> Nodes:
        """Nodes of the cluster, as Ray describes them.

        Args:
            now: Whether to ask anew, rather than tell what the last look has shown.

        Raises:
            SimulationError: The head has been gone for long.
        """
        return self.view(now=now).nodes

    def view(self, *, now: bool = False) -> View:
        """Nodes and free cores of the cluster; as ``nodes``."""
        asked_s = time.monotonic()
        with self._changed:
            while now and self._seen_s < asked_s:
                self._check()
                self._wanted.set()
                self._changed.wait(LOOK_S)
            self._check()
            return self._view

    def leave(self) -> None:
        """Look no more."""
        self._is_left = True
        self._wanted.set()

    def _check(self) -> None:
        silent_s = time.monotonic() - self._seen_s
        if silent_s > _SILENT_S or (silent_s > self._patience_s and not self._is_reachable()):
            raise SimulationError(
                f"the head of the Ray cluster at {self.address} has not answered for "
                f"{silent_s:.0f} s; what was finished is stored: start a cluster again, and go on "
                "with --resume"
            )

    def _watch(self) -> None:
        while not self._is_left:
            self._wanted.clear()
            asked_s = time.monotonic()
            if self._is_reachable():
                with suppress(Exception):  # then it has not been seen
                    nodes, free = self._ray.nodes(), free_cores(self._ray)
                    with self._changed:
                        self._view = View(nodes=nodes, free=free, seen_s=asked_s)
                        self._seen_s = asked_s
                        self._changed.notify_all()
            self._wanted.wait(LOOK_S)

    def _is_reachable(self) -> bool:
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
        except OSError:
            return False
        return True
