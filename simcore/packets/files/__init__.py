"""Files of cases: their tables of flows and of changing links, and lists of cases."""
