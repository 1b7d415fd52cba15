"""Ranks of a program on the NPUs of a machine: their traffic, its links, where they are placed."""
