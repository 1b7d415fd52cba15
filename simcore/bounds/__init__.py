"""Lower bounds that are never above the simulator's answer, for millions of designs."""
