"""NPUs that fall out of step: one is followed for each class of alike ones."""
