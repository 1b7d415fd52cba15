"""Rings, meshes and tori of any dimension, hypercubes."""
