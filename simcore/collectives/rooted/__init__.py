"""Algorithms of collectives in which one member has the data at the start or at the end."""
