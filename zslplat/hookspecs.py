"""The whole extension surface of zslplat, on one screen.

A plugin is a module (or object) named by an entry point in the group ``zslplat`` that implements some of these hooks
with :data:`zslplat.api.hookimpl`. Components are given as ``"package.module:Class"`` strings, which are imported only
when the component is used, or as classes. Additional CLI commands are Typer apps or functions named by entry points
in the group ``zslplat.commands``. One that runs jobs on a cluster (``--cluster``) names a class of the form of
:class:`zslplat.evaluation.workers.pool.Cluster` in the group ``zslplat.clusters``.

A plugin module may say which version of this surface it is written for, ``ZSLPLAT_API = "1"`` or ``"1.3"``: then it is
loaded where the major version is the same and the minor one at least that. The major version changes when a hook, a
base class or a promise of the kit changes so that plugins must follow; the minor one when there is more to use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pluggy

API_VERSION = "1.0"

hookspec = pluggy.HookspecMarker("zslplat")
hookimpl = pluggy.HookimplMarker("zslplat")


@dataclass(frozen=True)
class Kind:
    """A kind of methods, with all that belongs to it. Parts are ``"package.module:Class"``, imported when used.

    ``protocol`` is how its methods are called (a subclass of :class:`zslplat.api.Protocol`), ``pipeline`` what
    ``zslplat.make`` returns (:class:`zslplat.api.Pipeline`), ``model`` what is saved of them and predicts
    (:class:`zslplat.api.SavedModel`), ``kit`` their conformance checks (:class:`zslplat.testing.MethodKit`);
    ``template`` is the folder of ``component.py.template``, a first method, ``"package:path"``, for
    ``zslplat plugins new``. A kind without a pipeline, a model, a kit or a template goes without what that is for.

    ``noun``: what a method of the kind is called. ``usage``: options of ``zslplat tune`` beside ``--method`` that such
    a method is tried with. ``control``: the method that the others are compared with. Tasks say themselves which kind
    of method they take.
    """

    noun: str
    protocol: str
    pipeline: str = ""
    model: str = ""
    kit: str = ""
    template: str = ""
    usage: str = ""
    control: str = ""


@hookspec
def zslplat_methods() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: class or "module:Class"} of methods (subclasses of :class:`zslplat.api.Method`)."""


@hookspec
def zslplat_kernels() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: class or "module:Class"} of kernels (subclasses of :class:`zslplat.api.Kernel`)."""


@hookspec
def zslplat_datasets() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: class or "module:Class"} of data sets (subclasses of :class:`zslplat.api.DataSource`)."""


@hookspec
def zslplat_encoders() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: class or "module:Class"} of encoders (subclasses of ``zslplat_encoders.encoder.Encoder``)."""


@hookspec
def zslplat_tasks() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: class or "module:Class"} of tasks (subclasses of :class:`zslplat.api.Task`)."""


@hookspec
def zslplat_kinds() -> Mapping[str, Kind]:  # type: ignore[empty-body]
    """Return {name: :class:`Kind`} of kinds of methods; the name is the ``kind`` of their methods and tasks."""


@hookspec
def zslplat_suites() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: path of a TOML file, or its content as a mapping} of suites, for ``zslplat bench NAME``."""


@hookspec
def zslplat_cards() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: path of a TOML file, or its content as a mapping} of feature cards, by the name of a data set."""


@hookspec
def zslplat_tables() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {id: path of a TOML file} of published tables, which the package ``zslplat-papers`` shows."""


@hookspec
def zslplat_checks() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {code: class or "module:Class"} of checks (subclasses of :class:`zslplat.api.Check`).

    The code is that of the class: capital letters and digits, such as ``LAB101``; those that begin with ``ZSP`` are
    zslplat's own and refused. What a check finds is shown after every study, comparison or suite, by its scope.
    """


@hookspec
def zslplat_listeners() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Return {name: class or "module:Class"} of listeners (subclasses of :class:`zslplat.api.Listener`).

    Every command that evaluates makes one of each, which is told of the studies and runs as they are recorded.
    """
