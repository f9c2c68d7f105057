"""The commands ``reproduce``, ``claims`` and ``published``."""
