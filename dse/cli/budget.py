"""Trials that studies take until they have settled, as searches of shipped studies took them."""

from dse.study.compile import Study

SETTLED = {1: (658, 665), 2: (658, 1051), 3: (658, 1785)}
"""Least and most proposals with `trials: auto`, by the number of objectives: three or more count as
three. Measured by `benchmarks/search/settled.py`, whose table is in docs/search.md."""

FAR = 2
"""Fewer trials than the least of these by this factor are far fewer."""


def told_budget(study: Study) -> str:
    """Sentence on how many trials a study like *study* takes; empty: they suffice for all designs.

    Says where it has far fewer, unless a proof ends it. Samplers that take all designs in turn need
    no such figure.
    """
    search, counts = study.file.search, study.space.counts
    is_whole = not counts.continuous and counts.searched <= search.exhausted
    if is_whole or search.sampler == "exhaustive":
        return ""
    objectives = len(study.goals.objectives)
    least, most = SETTLED[min(objectives, max(SETTLED))]
    of = f"{objectives} objective{'s' if objectives > 1 else ''}"
    told = f"shipped studies of {of if objectives <= max(SETTLED) else '3 or 4 objectives'}"
    told += f" took {least:,} to {most:,} until the last third brought less than 1% of the front"
    if not search.is_open and not search.asks_gap and search.most_trials * FAR < least:
        told += f"; {search.most_trials:,} are far fewer, --trials auto ends by itself"
    return told
