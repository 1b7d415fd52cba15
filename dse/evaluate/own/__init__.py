"""Metrics that a user's own functions and commands give, within limits."""
