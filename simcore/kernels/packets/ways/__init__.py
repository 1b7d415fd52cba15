"""Ways of packets: next hops of shortest ones, and who chooses among them."""
