"""Only regular files of a bounded size come in, whatever is named."""

import gzip
import os
import socket
from pathlib import Path

import pytest

from simcore.errors import ConfigError
from simcore.files.input_file import (
    MIB,
    MissingFileError,
    is_there,
    open_input,
    open_unpacked,
    read_bytes,
    read_text,
)


def told(path: Path | str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_bytes(path, 1000)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_named_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert told(tmp_path / "pipe") == "must be a regular file, but got 'a named pipe'."


def test_devices_folders_and_sockets_are_refused(tmp_path: Path) -> None:
    assert told("/dev/zero") == "must be a regular file, but got 'a device'."
    assert told(tmp_path) == "must be a regular file, but got 'a directory'."
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(tmp_path / "s"))
        assert told(tmp_path / "s").startswith("must be a readable file, but got ")


def test_a_missing_file_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="No such file"):
        read_bytes(tmp_path / "none")
    assert told("a\0b") == "must be the name of a file, but got 'a\\x00b'."
    assert "x: must be a readable file, but got 'File name too long'" in told("x" * 5000)


def test_the_limit_is_the_last_size_that_comes_in(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    assert read_bytes(path, 1000) == b"x" * 1000
    path.write_bytes(b"x" * 1001)
    assert told(path) == "must be at most 1,000 bytes long, but got 1001."


def test_a_file_that_holds_more_than_its_size_says_is_refused() -> None:
    assert told("/proc/self/stat").startswith("must not grow while it is read")


def test_text_comes_without_mark_and_with_plain_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path) == "a\nb\nc\n"
    path.write_bytes(b"fine\nnot \xff\n")
    with pytest.raises(ConfigError, match=r"file line 2: must be UTF-8 text"):
        read_text(path)


def test_packed_files_unfold_up_to_a_limit_only(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(bytes(65 * MIB)))
    rule = r"bomb: must unpack to at most 67,108,864 bytes"
    with pytest.raises(ConfigError, match=rule), open_unpacked(path) as stream:
        stream.read(65 * MIB)
    path.write_bytes(gzip.compress(bytes(2000)))
    rule = r"bomb: must unpack to at most 1,000 bytes"
    with pytest.raises(ConfigError, match=rule), open_unpacked(path, 1000) as stream:
        stream.read()


def test_damaged_gzip_is_told_and_plain_bytes_pass(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"hello")[:-3])
    with pytest.raises(ConfigError, match="must be whole gzip data"), open_unpacked(path) as stream:
        stream.read()
    path.write_bytes(b"plain")
    with open_unpacked(path) as stream:
        assert stream.read() == b"plain"


def test_an_error_of_another_file_is_not_blamed_on_the_one_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    with pytest.raises(FileNotFoundError), open_input(path):
        (tmp_path / "other").read_bytes()


def test_a_text_that_can_be_no_name_names_nothing(tmp_path: Path) -> None:
    assert not is_there("x" * 5000)
    assert not is_there("a\0b")
    assert not is_there(tmp_path / "none")
    assert is_there(tmp_path)
