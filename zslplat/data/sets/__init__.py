"""Sets: the built-in data sets."""
