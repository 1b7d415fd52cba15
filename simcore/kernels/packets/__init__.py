"""Kernels of the packet engine: every packet on every link, event by event."""
