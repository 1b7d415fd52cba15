"""The designs that a study starts with: by hand, by a closed form, or from another's front."""

from collections.abc import Mapping
from pathlib import Path

from dse.results.result import load_study
from dse.run.balance import balanced_designs
from dse.samplers.design import GenomeSpace
from dse.space import Design, Parameter, Value
from dse.study.compile import Study
from simcore import ConfigError, parse_quantity

ANALYTIC = "analytic"
"""Word for designs whose bandwidth is split in proportion to what is sent."""


def starting_designs(study: Study) -> list[Design]:
    """What ``search.start`` of the study file means.

    Raises:
        ConfigError: A folder without a study, a knob or a value that the space does not have, or a
            design that breaks a rule.
    """
    space = GenomeSpace(study.space)
    result = []
    for index, item in enumerate(study.file.search.start):
        at = f"search.start[{index}]"
        if item == ANALYTIC:
            result += [d for d in balanced_designs(study) if space.genome(d) is not None]
            continue
        if isinstance(item, str):
            other = load_study(Path(study.folder) / item)
            found = [dict(other.rows[row].design) for row in other.front]
        else:
            found = [_design(item, study.space.parameters, at)]
        for design in found:
            if space.genome(design) is None:
                raise ConfigError(at, "must be a design of the space", got=design)
            result.append(design)
    return result


def _design(item: Mapping[str, Value], parameters: Mapping[str, Parameter], at: str) -> Design:
    values: Design = {}
    for name, value in item.items():
        if name not in parameters:
            raise ConfigError(at, f"knobs are {', '.join(parameters)}", got=name)
        unit = parameters[name].unit
        try:
            is_text = unit is not None and isinstance(value, str)
            values[name] = parse_quantity(str(value), str(unit)) if is_text else value
        except ValueError as error:
            raise ConfigError(f"{at}.{name}", str(error), got=value) from None
    return values
