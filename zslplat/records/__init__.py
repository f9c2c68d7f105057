"""What is recorded for good: studies, evaluations, their outcomes per row."""
