"""The design space: knobs, rules, and the valid designs that they leave."""

from dse.space.algorithms import DimensionFacts
from dse.space.build import RunFacts, build_space
from dse.space.check import Check
from dse.space.derived import completed
from dse.space.encoding import Encoding
from dse.space.expressions import parse_expression
from dse.space.file import SpaceFile
from dse.space.genes import Gene
from dse.space.parameters import Design, Parameter, Value, file_value, slot_of
from dse.space.scalars import scalars_of
from dse.space.space import KnobBlock, Space, design_key

__all__ = [
    "Check",
    "Design",
    "DimensionFacts",
    "Encoding",
    "Gene",
    "KnobBlock",
    "Parameter",
    "RunFacts",
    "Space",
    "SpaceFile",
    "Value",
    "build_space",
    "completed",
    "design_key",
    "file_value",
    "parse_expression",
    "scalars_of",
    "slot_of",
]
