"""What a summary says of a search that has, or has not, settled."""

import pytest

from dse.results.convergence import convergence_lines


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (None, "more trials (--trials, or --trials auto) are likely to find better designs"),
        (0.0645, "more trials (--trials, or --trials auto) are likely to find better designs"),
        (0.01481, "it is proven that at most 1.49% of it is missing"),
        (0.0, "it is proven that at most 0.00% of it is missing"),
    ],
)
def test_a_search_that_still_improves_promises_no_more_than_a_proof_leaves(
    missing: float | None, told: str
) -> None:
    summary = {
        "convergence": {"last": 341, "gained": 0.04, "improves": True},
        "optimality_gap": {"hypervolume": missing},
    }
    (line,) = convergence_lines(summary)
    assert line == (
        "still improving: 4.00% of the hypervolume of the front came in the last 341 proposals; "
        + told
    )


def test_a_study_without_a_proof_promises_more_while_it_improves() -> None:
    (line,) = convergence_lines({"convergence": {"last": 9, "gained": 0.04, "improves": True}})
    assert line.endswith("are likely to find better designs")
