"""Flows on a network graph: who sends what to whom and when, and when it ends."""
