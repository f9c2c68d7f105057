"""Skeletons of plugin packages: a component that works, its tests and its packaging, to be filled with life."""

from zslplat.scaffold.writer import forms, write_package

__all__ = ["forms", "write_package"]
