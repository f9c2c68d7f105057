"""Suites: methods x data sets x tasks, tuned with equal budgets, as a grid that can be continued."""
