"""Commands that simulate networks on their own."""
