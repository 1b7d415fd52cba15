"""Rows of known transitions, taken in one step."""
