"""The event engine: every NPU and every message."""
