"""Engines that carry out an iteration, and the choice among them (``iteration``)."""
