"""Valid designs one step away from a design, by the knob that the step is taken on."""

from collections.abc import Iterator

from dse.samplers.design import GenomeSpace
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.columns.steps import rungs, shifts, words
from dse.space import Design, Space


def one_step(space: Space, design: Design) -> Iterator[tuple[str, Design | None]]:
    """Names of knobs, each with a valid design one step away on it; None: there is no such design.

    Knobs that multiply to a fixed number hand a factor to each other. Where a rule ties knobs
    together, another one gives way.
    """
    genomes = GenomeSpace(space)
    genome = genomes.genome(design)
    if genome is None:
        return
    near = Neighbourhood(genomes)
    seen = {genome}
    for name, found in (*rungs(near, genome), *shifts(near, genome), *words(near, genome)):
        if found is None:
            yield name, None
        elif found not in seen:
            seen.add(found)
            yield name, genomes.design(genomes.settled(found))
