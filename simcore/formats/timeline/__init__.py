"""Timelines of executed iterations: traces for Chrome and Perfetto, and pictures."""
