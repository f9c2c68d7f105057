"""Facts as sections of a page."""
