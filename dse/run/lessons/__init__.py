"""Lessons of earlier studies, beside the trials of a search."""
