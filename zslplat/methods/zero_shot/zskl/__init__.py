"""Zero-shot kernel learning: the objective, its training, and the fast path."""
