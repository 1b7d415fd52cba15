"""Any layer on any array takes what a plain program finds word by word, in every column."""

from dataclasses import asdict

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain_systolic import Case, plain_row

from simcore.errors import ConfigError
from simcore.systolic import Array, Dataflow, Layer, report

SIDE, WINDOW = st.integers(1, 12), st.integers(1, 5)
BUFFER = st.one_of(st.integers(100, 400), st.integers(100, 3000), st.sampled_from([1024, 2048]))
BANDWIDTH = st.one_of(st.none(), st.integers(1, 5), st.integers(1, 64), st.integers(100, 3000))


@st.composite
def convolutions(draw: st.DrawFn) -> Layer:
    sizes = [draw(SIDE), draw(SIDE), draw(WINDOW), draw(WINDOW)]
    rest = [draw(st.integers(1, most)) for most in (6, 20, 4, 4)]
    try:
        return Layer(*sizes, *rest)
    except ConfigError:  # no window fits
        assume(False)
        raise


PRODUCTS = st.builds(Layer.gemm, *[st.integers(1, 30)] * 3)
ARRAYS = st.builds(
    Array,
    rows=st.integers(1, 20),
    cols=st.integers(1, 20),
    dataflow=st.sampled_from(Dataflow),
    ifmap_words=BUFFER,
    filter_words=BUFFER,
    ofmap_words=BUFFER,
    bandwidth=BANDWIDTH,
)


@settings(max_examples=60, deadline=None)
@given(layer=st.one_of(convolutions(), PRODUCTS), array=ARRAYS)
def test_reports_are_those_of_a_program_that_looks_up_every_word(
    layer: Layer, array: Array
) -> None:
    numbers = [getattr(layer, name) for name in Layer.__slots__]
    sizes = (array.ifmap_words, array.filter_words, array.ofmap_words)
    values = [*numbers, array.dataflow, array.rows, array.cols, *sizes, array.bandwidth or 0]
    case = Case(**dict(zip(Case._fields, values, strict=True)))
    found = asdict(report(layer, array))
    expected = plain_row(case)
    assert {name: found[name] for name in expected} == expected
