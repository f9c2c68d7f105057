"""Kernel coding: sparse, locality-constrained and bag-of-words codes in a reproducing kernel Hilbert space."""
