"""Data sets of the papers: loaders of files that their authors publish."""
