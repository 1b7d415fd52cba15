"""Compiled networks of routers with virtual channels, flit by flit."""
