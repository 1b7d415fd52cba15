"""Tiers of switches: one switch, leaf and spine, fat trees, rails."""
