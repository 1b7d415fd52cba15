"""Tables of kernel times of one's own: measured with PyTorch, or taken from other programs."""
