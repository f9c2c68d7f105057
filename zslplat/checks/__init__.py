"""Coded checks: what a study, a comparison or a suite should make its reader look at twice."""
