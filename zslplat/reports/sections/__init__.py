"""Contents as sections of a page."""
