"""The arena of the event engine, and the queues and sets in it."""
