"""The fixtures of zslplat itself (``tests/shared_fixtures.py``)."""

pytest_plugins = ["shared_fixtures"]
