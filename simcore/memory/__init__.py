"""Memory that a plan needs."""
