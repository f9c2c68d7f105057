"""Studies: deterministic proposals, persistent child workers, finished trials only, resume."""
