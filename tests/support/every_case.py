"""Many small cases in one test: each as a test of its own takes longer to report than to run."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

_TOLD = 10
"""Failures that are told one by one: the others are most often the same."""

Test = Callable[..., None]


def with_every(names: str, cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with all *cases*, one after the other, whichever of them fail.

    It takes the place of ``pytest.mark.parametrize``. Those that fail are told with their values.
    Each case has a folder and patches of its own, where the test asks for ``tmp_path`` or
    ``monkeypatch``; it shares all other fixtures.

    Args:
        names: Of the arguments, with commas.
        cases: Values of each argument, or of the one that there is.
    """
    keys = [name.strip() for name in names.split(",")]
    values = [case if len(keys) > 1 else (case,) for case in cases]
    given = [dict(zip(keys, each, strict=True)) for each in values]

    def decorated(test: Test) -> Test:
        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in keys]

        @wraps(test)
        def all_of_them(**shared: Any) -> None:
            if not given:
                pytest.skip("there are no cases")
            failed, skipped = list[BaseException](), list[str]()
            for number, case in enumerate(given):
                with _own(shared, number) as own:
                    try:
                        test(**case, **own)
                    except pytest.skip.Exception as skip:
                        skipped.append(str(skip.msg))
                    except (Exception, pytest.fail.Exception) as error:
                        error.add_note(f"with {case}")
                        failed.append(error)
            if failed:
                told = f"{len(failed)} of {len(given)} cases fail"
                raise BaseExceptionGroup(told, failed[:_TOLD])
            if len(skipped) == len(given):
                pytest.skip(skipped[0])

        all_of_them.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return all_of_them

    return decorated


@contextmanager
def _own(shared: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Fixtures of one case: a folder and patches are its own."""
    own = dict(shared)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / str(number)
        own["tmp_path"].mkdir()
    if "monkeypatch" not in own:
        yield own
        return
    with own["monkeypatch"].context() as patches:
        own["monkeypatch"] = patches
        yield own
