"""Routes of packets through networks of routers."""
