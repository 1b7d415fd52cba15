"""JSON means one thing: no key of a table counts in silence for another."""

import json
from pathlib import Path

import pytest

from simcore import parse_json
from simcore.errors import ConfigError
from simcore.files.json_file import read_json


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "a": 2}', "a"),
        ('{"one": {"b": 1}, "two": [{"b": 1, "c": [], "b": 1}]}', "b"),
        (json.dumps({"x" * 200: 1})[:-1] + ", " + json.dumps({"x" * 200: 1})[1:], "x" * 80),
    ],
)
def test_a_key_that_a_table_has_twice_is_refused_by_name(text: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_json(text, "answer")
    got = f"the key {key!r} twice in one table"
    assert str(caught.value) == f"answer: must hold each key once, but got {got!r}."


def test_tables_of_different_places_may_have_the_same_keys() -> None:
    text = '{"a": {"a": [{"a": 1}, {"a": 2}]}, "b": {"a": 3}}'
    assert parse_json(text, "answer") == json.loads(text)


def test_of_equal_keys_of_a_trace_the_last_one_counts_as_in_other_readers(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('{"events": [{"ts": 1, "ts": 2}]}')
    assert read_json(path) == {"events": [{"ts": 2}]}
