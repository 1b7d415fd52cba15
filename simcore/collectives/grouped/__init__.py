"""Algorithms that work within groups of neighbours and between groups, phase by phase."""
