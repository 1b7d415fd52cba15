"""Flows that share links: max-min fair rates, from event to event."""
