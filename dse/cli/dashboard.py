"""``dse dashboard``: optuna-dashboard on the store of a study, while it runs or later."""

import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from dse.report.optuna.storage import StoredStudy
from simcore import ConfigError

_READS = ("GET", "HEAD")

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""An application of WSGI."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *given: object) -> None:
        """Say nothing of each request."""


def dashboard_command(folder: Path, *, host: str, port: int) -> None:
    """``dse dashboard``; serves until it is interrupted."""
    if importlib.util.find_spec("optuna_dashboard") is None:
        rule = "dashboard needs the package of simcore-dse[dashboard]"
        raise ConfigError("dse", rule, got="no optuna-dashboard")
    application = read_only(dashboard_of(folder))
    try:
        server = make_server(host, port, application, server_class=_Server, handler_class=_Quiet)
    except OSError as error:
        rule = f"must be a port of {host} that is free (0 takes any)"
        raise ConfigError("--port", rule, got=f"{port}: {error.strerror or error}") from None
    with server:
        print(f"http://{host}:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def dashboard_of(folder: Path) -> Application:
    """The pages of the study in *folder*."""
    from optuna_dashboard import wsgi

    found: Application = wsgi(StoredStudy(folder))
    return found


def read_only(application: Application) -> Application:
    """*application* without what would change the study: notes, names, new studies."""

    def answer(asked: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if asked["REQUEST_METHOD"] in _READS:
            return application(asked, start)
        start("405 Method Not Allowed", [("Content-Type", "application/json"), ("Allow", "GET")])
        return [b'{"reason": "The study is shown as it is stored: nothing can be changed here."}']

    return answer
