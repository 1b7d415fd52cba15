"""NPUs that must behave identically: one of each class is simulated."""
