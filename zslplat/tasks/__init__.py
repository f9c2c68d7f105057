"""Tasks: the protocols. A task alone holds the labels that are scored."""
