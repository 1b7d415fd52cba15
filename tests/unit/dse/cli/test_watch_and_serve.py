"""``dse watch`` and ``dse serve``: a study as it grows, over the same store."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import dse
from dse.cli.live.serving import NEWS, LivePages
from dse.cli.live.watching import _picture, plain_line, watch_command
from dse.cli.live.web import for_this_host, read_only
from dse.results.live import LiveStudy
from dse.store.folder import SUMMARY
from simcore import ConfigError

STUDY = "p5_vit22b_64.yaml"


class _Looks:
    """Looks at the study from another reader, in the middle of it and before its end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.live: LiveStudy | None = None
        self.counts: list[int] = []

    def started(self, study: Any, known: int, total: int) -> None:
        return

    def folded(self, trial: Any, duplicates: int) -> None:
        if trial.number % 20 == 19:
            self.live = self.live or LiveStudy(self._folder)
            self.live.follow()
            assert not self.live.is_over
            self.counts.append(len(self.live.follower.trials))

    def stopping(self) -> bool:
        return False


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> tuple[_Looks, dse.StudyResult]:
    folder = tmp_path_factory.mktemp("study") / "out"
    watcher = _Looks(folder)
    return watcher, dse.run_study(STUDY, trials=60, executor="serial", out=folder, watcher=watcher)


def asked(application: Callable[..., Any], path: str, **more: str) -> tuple[str, bytes]:
    found: list[str] = []
    address, _, query = path.partition("?")
    told = {"REQUEST_METHOD": "GET", "PATH_INFO": address, "QUERY_STRING": query, **more}
    body = b"".join(application(told, lambda status, headers: found.append(status)))
    return found[0], body


def test_a_reader_sees_a_study_grow_to_its_end(looks: tuple[_Looks, dse.StudyResult]) -> None:
    watcher, result = looks
    assert watcher.counts == sorted(watcher.counts)
    assert watcher.live is not None
    assert watcher.live.follow()
    assert watcher.live.is_over
    assert not watcher.live.follow()
    at_last = watcher.live.result()
    assert [row.number for row in at_last.rows] == [row.number for row in result.rows]
    assert list(at_last.front) == list(result.front)
    assert at_last.summary["front_size"] == len(result.front)


def test_a_running_study_has_a_front_and_a_page_before_its_summary(
    looks: tuple[_Looks, dse.StudyResult], tmp_path: Path
) -> None:
    _, result = looks
    assert result.folder is not None
    copy = tmp_path / "running"
    copy.mkdir()
    for file in result.folder.iterdir():
        if file.name != SUMMARY and file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    live, pages = LiveStudy(copy), LivePages(copy)
    live.follow()
    assert not live.is_over
    told = plain_line(live)
    assert f"front {len(result.front)}" in told
    assert "over" not in told
    console = Console(width=100, record=True)
    console.print(_picture(live, 100))
    shown = console.export_text()
    assert "Pareto front" in shown
    assert "hypervolume" in shown
    assert "s ago" in shown
    status, page = asked(pages, "/")
    assert status == "200 OK"
    version = page.decode().partition("data-version='")[2].partition("'")[0]
    assert asked(pages, f"{NEWS}?seen={version}") == ("204 No Content", b"")
    (copy / SUMMARY).write_bytes((result.folder / SUMMARY).read_bytes())
    status, news = asked(pages, f"{NEWS}?seen={version}")
    found = json.loads(news)
    assert (status, found["version"] != version) == ("200 OK", True)
    assert found["data"]["trials"][0] == result.rows[result.front[0]].number
    assert "Trial" in found["sections"]["answer"]


def test_on_a_pipe_watch_writes_lines_and_ends_with_the_study(
    looks: tuple[_Looks, dse.StudyResult], capsys: pytest.CaptureFixture[str]
) -> None:
    _, result = looks
    assert result.folder is not None
    watch_command(result.folder, every_s=0.1)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("over")
    assert "\x1b" not in line


def test_a_folder_without_a_study_is_one_sentence(tmp_path: Path) -> None:
    for open_it in (LiveStudy, LivePages):
        with pytest.raises(ConfigError, match="must be the folder of a study"):
            open_it(tmp_path)


def test_only_reading_and_only_this_host(looks: tuple[_Looks, dse.StudyResult]) -> None:
    _, result = looks
    assert result.folder is not None
    pages = for_this_host(read_only(LivePages(result.folder)))
    assert asked(pages, "/x", HTTP_HOST="127.0.0.1:8081")[0] == "404 Not Found"
    assert asked(pages, "/x", HTTP_HOST="elsewhere.example:8081")[0] == "403 Forbidden"
    status, _ = asked(pages, "/", HTTP_HOST="localhost:8081", REQUEST_METHOD="POST")
    assert status == "405 Method Not Allowed"
