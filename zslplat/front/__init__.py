"""zslplat from Python: the functions that ``import zslplat`` offers, on the same engine as the commands."""
