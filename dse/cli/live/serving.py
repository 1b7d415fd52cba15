"""``dse serve``: the page of a study, which follows it while it runs."""

import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from dse.cli.live.web import LOOPBACK, for_this_host, read_only, serve
from dse.report.page.page import page_parts, report_page
from dse.results.live import LiveStudy

NEWS = "/news.json"
"""Path at which the page asks for what has changed."""


def serve_command(folder: Path, *, host: str, port: int) -> None:
    """Serve the page until it is interrupted.

    Raises:
        ConfigError: *folder* holds no study, or the port cannot be had.
    """
    pages = read_only(LivePages(folder))
    serve(for_this_host(pages) if host in LOOPBACK else pages, host=host, port=port)


class LivePages:
    """Application of WSGI: the page at ``/``, and its news."""

    def __init__(self, folder: Path) -> None:
        self._live, self._lock = LiveStudy(folder), threading.Lock()
        self._news: tuple[str, bytes] = ("", b"")

    def __call__(self, asked: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = asked.get("PATH_INFO") or "/"
        with self._lock:  # one reader of the store at a time
            if path == "/":
                return _answered(start, "200 OK", "text/html", self._page())
            if path == NEWS:
                seen = parse_qs(asked.get("QUERY_STRING", "")).get("seen", [""])[0]
                return self._told(start, seen)
        return _answered(start, "404 Not Found", "text/plain", b"There is no such page.\n")

    def _page(self) -> bytes:
        self._live.follow()
        found = self._live.result()
        return report_page(found, live=NEWS, version=self._live.state).encode()

    def _told(self, start: Callable[..., Any], seen: str) -> Iterable[bytes]:
        """News where the reader has seen another state, else nothing."""
        self._live.follow()
        version = self._live.state
        if seen == version:
            start("204 No Content", [])
            return []
        if self._news[0] != version:  # several readers, one answer
            content = {"version": version, **page_parts(self._live.result())}
            self._news = version, json.dumps(content).encode()
        return _answered(start, "200 OK", "application/json", self._news[1])


def _answered(start: Callable[..., Any], status: str, kind: str, body: bytes) -> Iterable[bytes]:
    headers = [
        ("Content-Type", f"{kind}; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    start(status, headers)
    return [body]
