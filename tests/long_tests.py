"""Which tests run: those of more than about two seconds are marked ``long``, and left out where nobody asks for them.

They run with ``--all``, and where files, tests, ``-k``, ``-m`` or ``--lf`` say what is to run.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run all tests, those that are marked long, too")


def pytest_configure(config):
    """Turn what is asked for into the option ``--all``; each process of ``-n`` has the same command line."""
    option = config.option
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    option.all = option.all or named or bool(option.keyword or option.markexpr or getattr(option, "lf", False))


def pytest_report_header(config):
    return None if config.option.all else "long tests are left out; --all runs them, too"


def pytest_collection_modifyitems(config, items):
    if config.option.all:
        return
    long = {item for item in items if item.get_closest_marker("long")}
    config.hook.pytest_deselected(items=list(long))
    items[:] = [item for item in items if item not in long]
