"""Walks over network graphs: distances, cuts, routes."""
