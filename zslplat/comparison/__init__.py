"""Results side by side: tables and figures of runs."""
