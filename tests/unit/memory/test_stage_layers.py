"""Layers of stages against plain walks over them, one by one."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.memory.stage_layers import pipeline_layers
from simcore.terms import LayerKind

KINDS = st.lists(st.sampled_from(["attention", "window", "experts"]), min_size=4, max_size=14)


def layers_of(names: list[str]) -> tuple[LayerKind, ...]:
    """Layers of one part each."""
    return tuple([(name,) for name in names])


@settings(derandomize=True, deadline=None, max_examples=200)
@given(names=KINDS, pp=st.integers(1, 2), interleave=st.integers(1, 2), mirrors=st.booleans())
def test_stages_hold_the_layers_of_a_plain_walk(
    names: list[str], pp: int, interleave: int, mirrors: bool
) -> None:
    kinds, mirrors = layers_of(names), mirrors and interleave == 2
    chunks = pp * interleave
    sizes = [len(kinds) // chunks + (at < len(kinds) % chunks) for at in range(chunks)]
    spans = [range(sum(sizes[:at]), sum(sizes[: at + 1])) for at in range(chunks)]
    found = pipeline_layers(kinds, pp, interleave, (), mirrors=mirrors)
    for stage in range(pp):
        own = [spans[stage], spans[-1 - stage]] if mirrors else spans[stage::pp]
        held = [kinds[layer] for span in own for layer in span]
        alike = found.stages[found.of_stage[stage]]
        assert alike.kinds == tuple(held)
        assert dict(alike.of_kind) == Counter(held)
        told = [one.kinds for one in alike.chunks for _ in range(one.times)]
        assert Counter(told) == Counter([kinds[span.start : span.stop] for span in own])


@settings(derandomize=True, deadline=None, max_examples=200)
@given(names=KINDS, together=st.integers(1, 16), redone=st.integers(0, 14), every=st.integers(1, 4))
def test_layers_are_counted_as_in_a_plain_walk(
    names: list[str], together: int, redone: int, every: int
) -> None:
    kinds = layers_of(names)
    stage = pipeline_layers(kinds, 1, 1, (), mirrors=False).stages[0]
    (chunk,) = stage.chunks
    inputs, whole = chunk.parted(redone, every)
    assert dict(inputs) == Counter([kinds[at] for at in range(0, min(redone, len(kinds)), every)])
    assert dict(whole) == Counter(kinds[redone:])
    size = min(together, len(kinds))
    windows = [Counter(kinds[at : at + size]) for at in range(len(kinds) - size + 1)]
    found = [Counter(dict(one)) for one in stage.neighbours(together)]
    assert all(window in found for window in windows)
    assert all(one in windows for one in found)
