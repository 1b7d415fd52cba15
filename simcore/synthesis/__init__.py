"""Collectives synthesised for a network graph, held against a proven bound."""
