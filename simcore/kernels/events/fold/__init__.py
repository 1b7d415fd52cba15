"""NPUs of the event engine that stand for others."""
