"""Networks packet by packet: hosts, switches, pauses, marks and congestion controls."""
