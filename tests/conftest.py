"""The fixtures are in ``shared_fixtures.py``, which the tests of the packages in ``plugins`` use as well."""

pytest_plugins = ["shared_fixtures"]
