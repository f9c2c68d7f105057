"""The processes that evaluate: a leader's workers, their scorers, and the processes that run methods."""
