"""Tutorials have a store of their own while they are carried out, and leave nothing behind."""

import os
from pathlib import Path

from zslplat_site import gallery


def test_each_tutorial_has_an_empty_store_and_the_last_one_is_gone(monkeypatch):
    monkeypatch.setenv("ZSLPLAT_STORE", "of the reader")
    monkeypatch.setenv("ZSLPLAT_DATA_ROOT", "of the reader")
    gallery.with_a_store_of_its_own(None, "first")
    first = Path(os.environ["ZSLPLAT_STORE"]).parent
    assert first.is_dir()
    assert "ZSLPLAT_DATA_ROOT" not in os.environ
    gallery.with_a_store_of_its_own(None, "second")
    second = Path(os.environ["ZSLPLAT_STORE"]).parent
    assert second != first
    assert not first.exists()
    gallery._forget()
    assert not second.exists()


def test_a_process_that_is_forked_off_and_ends_leaves_the_store_alone(monkeypatch):
    monkeypatch.setenv("ZSLPLAT_STORE", "of the reader")
    gallery.with_a_store_of_its_own(None, "first")
    child = os.fork()
    if not child:
        gallery._forget()
        os._exit(0)
    os.waitpid(child, 0)
    assert Path(os.environ["ZSLPLAT_STORE"]).parent.is_dir()
    gallery._forget()
