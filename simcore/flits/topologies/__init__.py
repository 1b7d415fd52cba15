"""Topologies of routers, each with its parameters and its routing functions."""
