"""Every recipe fits its table and names components that exist, with options that they have."""

import tomllib
from pathlib import Path

import pytest

import zslplat_papers
from zslplat.errors import DataError, UnknownNameError
from zslplat.evaluation.components import build_component, searched_space
from zslplat.registry import component
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat_papers.published import load_table, table_ids
from zslplat_papers.reproduction.cells import planned
from zslplat_papers.reproduction.recipe import (
    WAYS,
    facts_of_data,
    load_recipe,
    read_recipe,
    recipe_ids,
    recipes_of,
    sources,
)

RECIPES = recipe_ids()


def test_what_the_papers_data_are_known_by_is_of_columns_and_says_what_the_papers_print():
    facts = facts_of_data()
    columns = {c.dataset for name in recipe_ids() for c in load_recipe(name).columns.values()}
    assert set(facts) == columns
    # Paper 001 counts images and classes of its data apart for training and test.
    sizes = load_table("001-table-1")
    rows = {"AWA1": ("AwA-VGG", "AwA-GoogLeNet"), "CUB": ("CUB-VGG",), "aPY": ("aPY-VGG",), "SUN": ("SUN-VGG",)}
    for row, names in rows.items():
        train, test, attributes, seen, unseen = (
            int(sizes.cell(row, name).value)
            for name in ("training-images", "test-images", "attributes", "seen-classes", "unseen-classes")
        )
        for name in names:
            found = facts[name]
            assert (found["rows"], found["classes"], found["attributes"]) == (train + test, seen + unseen, attributes)


@pytest.mark.parametrize("name", RECIPES)
def test_rows_and_columns_are_those_of_the_table(name):
    table, recipe = load_table(name), load_recipe(name)
    rows, columns = {row.id for row in table.rows}, {column.id for column in table.columns}
    assert set(recipe.rows) <= rows
    assert set(recipe.columns) <= columns
    assert {standin.of for standin in recipe.standins.values()} <= {
        "",
        *columns,
        *(column.data for column in table.columns),
    }
    # Whatever a recipe has nothing for, it says why.
    if "*" not in recipe.left_out:
        assert rows - set(recipe.rows) | columns - set(recipe.columns) == set(recipe.left_out)


def test_every_published_table_has_a_recipe_but_those_of_other_methods():
    quoted = {"dkgzsl-gzsl", "scfa-gzsl", "sdgzsl-gzsl"}
    assert set(table_ids()) - set(RECIPES) == quoted
    assert all(load_table(name).status == "second-hand" for name in quoted)


@pytest.mark.parametrize("name", RECIPES)
def test_methods_and_ranges_exist(name):
    for ways in load_recipe(name).rows.values():
        for way in ways.values():
            spec = Spec.parse(way.method)
            values = {k: str(v) if isinstance(v, Spec) else v for k, v in spec.parameters.items()}
            template = component("methods", spec.name).build(values)
            assert set(searched_space(template, values, way.space)) >= set(way.space)
            template.effective_preprocessing.overridden(way.features, way.signatures)


@pytest.mark.parametrize("name", RECIPES)
def test_tasks_exist_and_suit_the_methods(name):
    recipe = load_recipe(name)
    tasks = {*recipe.tasks.values(), *(t for c in recipe.columns.values() for t in c.tasks.values())}
    tasks |= {t for s in recipe.standins.values() for t in s.tasks.values()}
    if not recipe.rows:
        return
    kinds = {build_component("tasks", Spec.parse(task)).kind for task in tasks}
    methods = {Spec.parse(way.method).name for ways in recipe.rows.values() for way in ways.values()}
    assert {component("methods", method).kind for method in methods} == kinds


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_not_built_in_says_how_to_get_it(name):
    settings = resolve_settings({})
    recipe = load_recipe(name)
    cells, missing = planned(load_table(name), recipe, settings)
    assert {one.column for one in missing} == set(recipe.columns)
    assert all(one.how for one in missing)
    assert all(cell.place.standin is not None for cell in cells)
    assert all(standin.differs for standin in recipe.standins.values())


@pytest.mark.parametrize("name", RECIPES)
def test_both_ways_are_there_for_every_row_of_the_papers_own(name):
    recipe, table = load_recipe(name), load_table(name)
    for row in table.own_rows:
        if row.id in recipe.rows:
            assert set(recipe.rows[row.id]) == set(WAYS), row.id


def test_every_source_says_how_in_one_line():
    assert all(how and "\n" not in how for how in sources().values())


def test_an_installed_copy_has_all_files_of_data():
    package = Path(zslplat_papers.__file__).parent
    project = package.parent / "pyproject.toml"
    if not project.is_file():
        pytest.skip("pyproject.toml is not beside the package")
    patterns = tomllib.loads(project.read_text())["tool"]["setuptools"]["package-data"]["zslplat_papers"]
    packaged = {path for pattern in patterns for path in package.glob(pattern)}
    data = {path for path in package.rglob("*") if path.suffix in (".toml", ".csv")}
    assert data <= packaged


def test_a_paper_means_all_its_tables():
    assert "000-table-2" in recipes_of("000")
    with pytest.raises(UnknownNameError, match="did you mean 000-table-2"):
        recipes_of("000-tabel-2")


WRONG = {
    "a key that nobody reads": ("surprise = 1", "surprise"),
    "a source that nobody describes": ('[columns.A]\ndataset = "digit-pairs"\nget = "nowhere"', "nowhere"),
    "no task": ('metric = "H"', "'task' is missing"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_broken_recipe_is_refused_with_its_name(tmp_path, what):
    content, named = WRONG[what]
    rest = "" if what == "no task" else '\n[protocol]\n[printed]\ntask = "zsl"\n[ours]\ntask = "zsl"\n[rows]\n'
    path = tmp_path / "wrong.toml"
    path.write_text(f'metric = "H"\n{rest}\n{content}' if content.startswith("[") else f"{content}\n{rest}")
    with pytest.raises(DataError, match=f"wrong.toml.*{named}"):
        read_recipe(path)
