"""Pages of a study over HTTP: reading only, on this machine unless told otherwise."""

from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from simcore import ConfigError

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""An application of WSGI."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_READS = ("GET", "HEAD")


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *given: object) -> None:
        """Say nothing of each request."""


def serve(application: Application, *, host: str, port: int) -> None:
    """Print the address and answer until it is interrupted.

    Raises:
        ConfigError: The port cannot be had.
    """
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


def read_only(application: Application) -> Application:
    """*application* without what would change the study: notes, names, new studies."""

    def answer(asked: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if asked["REQUEST_METHOD"] in _READS:
            return application(asked, start)
        start("405 Method Not Allowed", [("Content-Type", "application/json"), ("Allow", "GET")])
        return [b'{"reason": "The study is shown as it is stored: nothing can be changed here."}']

    return answer


def for_this_host(application: Application) -> Application:
    """*application* for requests that name this machine, so that no page of the web can ask it."""

    def answer(asked: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        name = asked.get("HTTP_HOST", "").rpartition(":")[0].strip("[]")
        if name in LOOPBACK:
            return application(asked, start)
        start("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"This address answers to 127.0.0.1 and localhost alone (see dse serve --host).\n"]

    return answer
