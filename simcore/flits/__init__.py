"""Networks of routers with virtual channels, flit by flit."""
