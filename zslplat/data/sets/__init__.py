"""Sets: the built-in data sets, and the loaders of public ones."""
