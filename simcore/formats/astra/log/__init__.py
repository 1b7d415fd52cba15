"""Lines that ASTRA-sim prints and logs of a run."""
