"""Watches the head of a Ray cluster, so that its end is ours to tell.

A call to a head that is gone holds its thread until Ray ends the whole process. So all such calls
are made by a thread of their own, and only while something listens at the head's address.
"""

import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from simcore import SimulationError

LOOK_S = 2.0
"""Time between two looks at the nodes of the cluster."""

_SILENT_S = 45.0  # a head that takes connections but answers nothing
_REACH_S = 1.0
_END_S = 50.0  # for writing the study before Ray ends the process
_RAYS_SETTING = "RAY_gcs_rpc_server_reconnect_timeout_s"
_RAYS_DEFAULT_S = 60.0

Nodes = Sequence[Mapping[str, Any]]


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
        self._nodes: Nodes = ray.nodes()
        self._seen_s = time.monotonic()
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
        asked_s = time.monotonic()
        with self._changed:
            while now and self._seen_s < asked_s:
                self._check()
                self._wanted.set()
                self._changed.wait(LOOK_S)
            self._check()
            return self._nodes

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
                    nodes = self._ray.nodes()
                    with self._changed:
                        self._nodes, self._seen_s = nodes, asked_s
                        self._changed.notify_all()
            self._wanted.wait(LOOK_S)

    def _is_reachable(self) -> bool:
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
        except OSError:
            return False
        return True
