"""A test with many cases fails if one of them does, and tells which."""

from pathlib import Path

import pytest
from every_case import with_every


def test_all_cases_run_and_those_that_fail_are_told(tmp_path: Path) -> None:
    ran = []

    @with_every("a, b", [(1, 1), (1, 2), (2, 2), (3, 4)])
    def equal(a: int, b: int) -> None:
        ran.append((a, b))
        assert a == b

    with pytest.raises(ExceptionGroup, match="2 of 4 cases fail") as caught:
        equal()
    assert ran == [(1, 1), (1, 2), (2, 2), (3, 4)]
    notes = [error.__notes__ for error in caught.value.exceptions]
    assert notes == [["with {'a': 1, 'b': 2}"], ["with {'a': 3, 'b': 4}"]]


def test_what_was_to_be_raised_and_was_not_is_a_failure() -> None:
    @with_every("text", ["1", "x"])
    def refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases fail"):
        refused()


def test_a_case_that_is_skipped_hides_no_other() -> None:
    @with_every("number", [0, 1, 2])
    def passes(number: int) -> None:
        if number == 0:
            pytest.skip("not now")
        assert number != 2

    with pytest.raises(ExceptionGroup, match="1 of 3 cases fail"):
        passes()

    @with_every("number", [0, 1])
    def never(number: int) -> None:
        pytest.skip(f"not {number}")

    with pytest.raises(pytest.skip.Exception, match="not 0"):
        never()


def test_a_test_without_cases_is_skipped() -> None:
    @with_every("number", [])
    def passes(number: int) -> None: ...

    with pytest.raises(pytest.skip.Exception, match="there are no cases"):
        passes()


FOLDERS = list[Path]()


@pytest.mark.parametrize("one", [1])
@with_every("number", range(3))
def test_each_case_has_its_own_folder_and_patches(
    one: int, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tmp_path not in FOLDERS
    assert not list(tmp_path.iterdir())
    FOLDERS.append(tmp_path)
    (tmp_path / "file").write_text(str(one))
    assert len(FOLDERS) == number + 1
    monkeypatch.setattr("test_every_case.FOLDERS", [])
