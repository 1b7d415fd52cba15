"""Thousands of designs at once: columns of knobs in, columns of figures out."""
