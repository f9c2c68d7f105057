"""Methods that score rows against class signatures."""
