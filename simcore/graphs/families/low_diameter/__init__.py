"""Networks in which few links lie between any two NPUs."""
