"""Checks of a family from outside, before it is used."""

from simcore.errors import ConfigError
from simcore.graphs.families.base import Family, FamilyParameters


def check_family(family: Family) -> None:
    """Refuse what is no family, or states no parameters.

    Raises:
        ConfigError: A rule is broken.
    """
    if not isinstance(family, Family):
        raise ConfigError("family", "must be an object of a class of Family", got=family)
    known = getattr(family, "parameters", None)
    if not (isinstance(known, type) and issubclass(known, FamilyParameters)):
        rule = "must name a class derived from FamilyParameters as its parameters"
        raise ConfigError(type(family).__name__, rule, got=known)
