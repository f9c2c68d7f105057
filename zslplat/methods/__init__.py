"""Zero-shot methods and baselines, one algorithm per file."""
