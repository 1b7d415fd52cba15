"""A hint names what was meant, and nothing where nothing is near."""

import pytest

from simcore.registry import did_you_mean


@pytest.mark.parametrize(
    ("given", "choices", "meant"),
    [
        ("rinng", ["ring", "switch"], "ring"),
        ("h100", ["p100", "h100_80"], "h100_80"),
        ("llm_gp.yaml", ["llm_gpt.yaml", "gpt.yaml"], "llm_gpt.yaml"),
        ("nope.yaml", ["who_moves.yaml", "serve.yaml"], None),
        ("", ["ring"], None),
    ],
)
def test_a_hint_names_what_is_near(given: str, choices: list[str], meant: str | None) -> None:
    assert did_you_mean(given, choices) == (f" (did you mean {meant!r}?)" if meant else "")
