"""Models of recorded runs: found, listed, removed, loaded, exported for others to serve."""
