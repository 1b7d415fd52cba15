"""Several jobs on one machine, whose messages share its links."""
