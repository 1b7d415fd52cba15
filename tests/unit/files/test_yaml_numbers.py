"""A number in YAML means what it says: no leading zero or colon changes its base in silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import ConfigError
from simcore.files.yaml_file import parse_yaml


@pytest.mark.parametrize(
    ("value", "base"),
    [
        ("010", 8),
        ("-07", 8),
        ("00", 8),
        ("0_17", 8),
        ("1:30", 60),
        ("+1:30:05", 60),
        ("1:30.5", 60),
    ],
)
def test_a_number_that_yaml_reads_to_another_base_is_refused(value: str, base: int) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(f"one: 1\nnpus: {value}\n", "study.yaml")
    got = f"{value}, a number to base {base} in YAML: write it to base 10, or quote it"
    assert str(caught.value) == f"study.yaml line 2: must be valid YAML, but got {got!r}."


def test_a_base_that_is_named_and_a_text_in_quotes_are_read() -> None:
    text = "[0x10, 0b11, 1_000, 007.5, 0.25, 0, -0, '010', \"1:30\", 10:x]"
    assert parse_yaml(text, "here") == [16, 3, 1000, 7.5, 0.25, 0, 0, "010", "1:30", "10:x"]


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False).map(lambda x: round(x, 6)))
def test_numbers_as_python_writes_them_are_read_as_they_were(number: float) -> None:
    found = parse_yaml(repr(number), "here")
    assert type(number)(found) == number  # 1e+16 is a text to YAML 1.1, which fields read as well
