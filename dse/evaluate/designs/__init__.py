"""From the knobs of a design to the run that it means."""
