"""Tracking: what MLflow shows of studies and runs, the artifacts, and the record of the environment."""
