"""The best designs: Pareto fronts and the volume that they dominate."""
