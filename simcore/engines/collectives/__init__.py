"""Times of collectives: phases on the dimensions, and when their members end."""
