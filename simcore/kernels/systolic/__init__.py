"""Compiled loops of systolic arrays: which words are asked for when, fetched and written."""
