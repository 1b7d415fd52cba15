"""Rules about designs that need no simulation: what is sold, what is consistent, what fits."""

from collections.abc import Callable, Mapping

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.designs.assign import bears_on_memory
from dse.space import Check, Design, Parameter
from simcore import Platform, unbuildable


def design_checks(
    what: EvaluatorInput,
    platform: Callable[[Design], Platform],
    fits: Callable[[Design], bool],
) -> list[Check]:
    """The rules of parts, unless the study leaves them, and those of structure and memory.

    Args:
        what: The study.
        platform: The machine of a design.
        fits: True unless a design breaks a rule of structure or of memory.
    """
    in_memory = _knobs_where(what.parameters, bears_on_memory)
    found = [Check(holds=fits, deciding=in_memory)]
    if what.physical:
        of_machine = _knobs_where(what.parameters, _bears_on_machine)
        found.insert(
            0, Check(holds=lambda one: unbuildable(platform(one)) is None, deciding=of_machine)
        )
    return found


def _bears_on_machine(knob: Parameter) -> bool:
    """True if what a machine is built of depends on *knob*."""
    return any(path.startswith("platform") for path in knob.targets or (knob.name,))


def _knobs_where(
    parameters: Mapping[str, Parameter], holds: Callable[[Parameter], bool]
) -> frozenset[str]:
    return frozenset(name for name, knob in parameters.items() if holds(knob))
