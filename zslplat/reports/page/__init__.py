"""Blocks as one HTML file."""
