"""A space as a tool sees it that proposes first and looks at the rules afterwards."""

from math import prod

from baselines.agents import Codes
from dse.samplers.design import GenomeSpace
from dse.space import Design, Space


class RawSpace:
    """Lists of choices, one per free knob; most combinations break a rule.

    Attributes:
        sizes: Number of choices of each free knob.
    """

    def __init__(self, space: Space) -> None:
        self._genomes = GenomeSpace(space)
        self._free = [knob for knob in self._genomes.knobs if not knob.derived]
        self._products = [
            (names, equals) for block in space.blocks for names, equals in block.products
        ]
        self._parameters = space.parameters
        self.sizes = [len(knob.choices) for knob in self._free]

    def design(self, codes: Codes) -> Design | None:
        """The design of a combination, or None if it breaks a rule and is rejected."""
        values: Design = {
            knob.name: knob.choices[code] for knob, code in zip(self._free, codes, strict=True)
        }
        for names, equals in self._products:
            for name in names:
                if self._parameters[name].derived:
                    rest = prod(int(values[other]) for other in names if other != name)
                    if equals % rest:
                        return None
                    values[name] = equals // rest
        genome = self._genomes.genome(values)
        return None if genome is None else self._genomes.design(genome)
