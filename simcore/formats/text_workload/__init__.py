"""Text workloads of ASTRA-sim 1.0, and their conversion to Chakra traces."""
