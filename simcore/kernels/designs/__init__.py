"""Designs as rows of small integers, bred, repaired and known again by the thousand."""
