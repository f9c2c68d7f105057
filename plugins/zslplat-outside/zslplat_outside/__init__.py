"""Scores that other software made: what it is given, how its scores are read, scored and recorded."""
