"""Synthesised collectives of groups on a network: by content kept, and timed for any size."""
