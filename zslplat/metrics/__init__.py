"""Metrics as pure functions of labels and scores; no task, no method, no plotting."""
