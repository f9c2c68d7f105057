"""The papers' published tables made again, ours beside theirs, and the verdicts on their claims."""
