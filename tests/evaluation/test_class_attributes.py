"""What a class declares is read from its source where that says it, and is what the class has."""

import pytest

from zslplat.evaluation import components as module
from zslplat.evaluation.components import class_attribute
from zslplat.registry import registry

SOURCES = {
    "shapes": """
from bases import Base, OTHER
class Plain(Base):
    tags: tuple = ("own", "two")
class Heir(Plain):
    summary = "x"
class FromAfar(Base): pass
class Computed(Base):
    tags = (*Base.tags, "more")
class Two(Plain, Base): pass
@OTHER
class Decorated(Base): pass
class Property(Base):
    @property
    def tags(self): return ()
Changed = Plain
class Assigned(Plain): pass
Assigned.tags = ("later",)
""",
    "bases": """
OTHER = lambda c: c
class Base:
    tags = ("base",)
""",
}


@pytest.fixture
def shapes(tmp_path, monkeypatch):
    for name, text in SOURCES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for remembered in (module._top, module.module_file):
        remembered.cache_clear()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Plain", ("own", "two")), ("Heir", ("own", "two")), ("FromAfar", ("base",))],
)
def test_literals_are_found_in_the_class_or_the_first_base_that_has_one(shapes, name, expected):
    assert module._literal("shapes", name, "tags") == expected


@pytest.mark.parametrize("name", ["Computed", "Two", "Decorated", "Property", "Assigned", "Changed", "Missing"])
def test_what_the_source_does_not_plainly_say_is_left_to_the_class(shapes, name):
    with pytest.raises(module._UnreadableError):
        module._literal("shapes", name, "tags")


def test_declared_tags_are_those_of_every_method():
    names = registry().names("methods")
    assert {n: tuple(class_attribute("methods", n, "tags")) for n in names} == {
        n: tuple(registry().component("methods", n).tags) for n in names
    }
