"""Writing what every stage does: operators, pieces, units and the end of an iteration."""
