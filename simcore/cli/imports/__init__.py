"""Commands about models of other programs."""
