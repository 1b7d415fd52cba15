"""Islands: workers that propose and evaluate in rounds, and hear of each other in between."""
