"""Terms of the bounds that follow from workload and plan, read from the graph of the simulator."""
