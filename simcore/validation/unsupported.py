"""A row that cannot be simulated, with the reason."""

from simcore.errors import SimcoreError


class UnsupportedRow(SimcoreError):
    """The row asks for something that is not modelled, or leaves out what no rule can fill in."""
