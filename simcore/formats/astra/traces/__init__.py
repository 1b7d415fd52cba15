"""From Chakra traces to the programs of NPUs, as ASTRA-sim reads them."""
