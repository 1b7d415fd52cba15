"""Commands about networks as graphs."""
