"""Saved models: what a final evaluation learned, as arrays and JSON, and predictions that are made from it."""
