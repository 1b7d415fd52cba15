"""Limits of what can be counted, in time and in bytes."""
