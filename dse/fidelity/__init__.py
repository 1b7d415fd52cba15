"""Several fidelities in one study: who is judged again, what decides, and how far they agree."""
