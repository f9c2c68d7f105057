"""A store that is written down, for tests of what compares."""

import pytest
from store_toys import MadeStore

from zslplat.settings import resolve_settings


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


@pytest.fixture
def made(settings):
    return MadeStore(settings)
