"""Exemplar machines: one classifier per image against a common pool of negatives, and what they compete with."""
