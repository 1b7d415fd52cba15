"""Branch and bound over boxes: machines between two corners, and their plans."""
