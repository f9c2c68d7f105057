"""Store: arrays on disk, rows that are read block by block, and their preprocessing."""
