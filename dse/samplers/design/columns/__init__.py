"""Genomes of a space as columns: drawn, moved and decoded, thousands at once."""
