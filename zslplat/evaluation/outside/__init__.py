"""Scores that other software makes: what it is given, and how its scores are read."""
