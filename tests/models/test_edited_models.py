"""Whatever becomes of the files of a saved model, loading it and predicting with it ends well or in one clear error."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from functools import cache
from itertools import islice

import numpy as np
import pytest
from model_toys import animals, kept, rows_to_tell_apart

from zslplat.errors import StoreError, ZslplatError
from zslplat.models.folder import _digest, _write_array, read_model, write_model
from zslplat.models.model import load_saved

pytestmark = pytest.mark.filterwarnings("ignore")

MODELS = {
    "eszsl": ("gzsl", animals),
    "keszsl": ("zsl", animals),
    "exem-1nn": ("gzsl", animals),
    "ksc": ("coding", rows_to_tell_apart),
    "lc-ksvd": ("coding", rows_to_tell_apart),
    "semfs": ("feature-selection(first=2,last=4,step=2)", animals),
    "kslem": ("exemplar-retrieval", animals),
}
VALUES = (None, True, -1, 3, 10**30, 0.5, float("nan"), "", "a/../b", [], ["x"], [[1, 2], [3]], {}, {"x": 1})
ATTRIBUTES = (
    "fit",
    "decision_function",
    "encode",
    "similarity",
    "score",
    "get_params",
    "__class__",
    "__dict__",
    "views",
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    @cache
    def make(name):
        task, dataset = MODELS[name]
        return kept(tmp_path_factory.mktemp(name), name, task, dataset()).folder

    return make


def places(value, path=()):
    """Yield the path of every value inside JSON."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, one in items:
        yield from places(one, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def json_edits(whole):
    """Yield index files with a value left out or replaced, or with more than was there."""
    for path in places(whole["content"]):
        if not path:
            yield from ({**whole, "content": value} for value in VALUES)
            continue
        for value in ("left out", "twice", "shorter", *VALUES):
            edited = copy.deepcopy(whole)
            inside = at(edited["content"], path[:-1])
            old = inside[path[-1]]
            if isinstance(value, str) and value == "left out":
                del inside[path[-1]]
            elif isinstance(value, str) and value in ("twice", "shorter"):
                if not isinstance(old, list | str):
                    continue
                inside[path[-1]] = old + old if value == "twice" else old[:-1]
            else:
                inside[path[-1]] = value
            yield edited
    for name in ATTRIBUTES:
        edited = copy.deepcopy(whole)
        edited["content"]["state"][name] = "another"
        yield edited


def other_arrays(array):
    """Yield arrays that are not what a method or a model learned."""
    flat = array.reshape(-1)
    yield from (array[..., None], flat, flat[:1], flat[:0], np.asarray(array).T, array[:-1] if array.ndim else flat)
    yield from (np.zeros((0, 3)), np.array(7), np.array(-1), np.array([["a", "b"]]), np.array(["x"] * 5))
    yield array.astype(str)
    if array.dtype.kind in "fiu":
        yield from (array.astype(complex) * 1j, array.astype(np.float16), np.full_like(array, 127), -array)
    if array.dtype.kind == "f":
        yield from (np.full_like(array, value) for value in (np.nan, np.inf, 1e38))
    yield np.concatenate([array, array]) if array.ndim else np.stack([array, array])
    yield np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])


def headers():
    """Yield the bytes of files that are no arrays, or declare other ones than they hold."""
    yield from (b"", b"\x93NUMPY", b"PK\x03\x04", b"\x93NUMPY\x01\x00\xff\xff{}", b"\x93NUMPY\x09\x00v\x00")
    for shape in ((10**12,), (10**6, 10**6), (-3,), (2**62, 4), (3,) * 40):
        text = str({"descr": "<f8", "fortran_order": False, "shape": shape})
        text += " " * (118 - len(text)) + "\n"
        yield b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)
    text = "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}".ljust(117) + "\n"
    yield b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"cos\nsystem\n(S'true'\ntR."


def array_places(content):
    return [path for path in places(content) if isinstance(at(content, path), dict) and "array" in at(content, path)]


def signed(whole):
    """Return the text of an index file that says of itself that nobody has changed it."""
    if isinstance(whole.get("content"), dict):
        whole = {**whole, "digest": _digest(whole["content"])}
    return json.dumps(whole)


def edited_models(folder, target):
    """Yield what was edited, once the folder ``target`` holds the model with that edit."""
    whole = json.loads((folder / "model.json").read_text())
    files = [path.relative_to(folder.parent) for path in sorted(folder.parent.rglob("*")) if path.is_file()]
    files = [path for path in files if path.suffix in (".json", ".npy")]

    def anew():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder.parent, target)

    for path in files:
        content = (folder.parent / path).read_bytes()
        for what in (
            None,
            b"",
            b"{",
            b"null",
            b"[]",
            b'"x"',
            b"[" * 100_000,
            content[: len(content) // 2],
            content[:-1],
            content + b"x",
        ):
            anew()
            (target / path).unlink()
            if what is not None:
                (target / path).write_bytes(what)
            yield f"{path}: {None if what is None else what[:20]}"
        anew()
        (target / path).unlink()
        (target / path).mkdir()
        yield f"{path}: a folder"
    anew()
    for edited in json_edits(whole):
        (target / "model/model.json").write_text(signed(edited))
        yield "an edited index"
    for path in array_places(whole["content"]):
        named = at(whole["content"], path)["array"]
        array = np.load(folder / "arrays" / f"{named}.npy")
        for other in other_arrays(array):
            edited = copy.deepcopy(whole)
            at(edited["content"], path)["array"] = _write_array(target / "model/arrays", np.asarray(other))
            (target / "model/model.json").write_text(signed(edited))
            yield f"{path}: {other.shape} {other.dtype}"
        for content in headers():
            edited = copy.deepcopy(whole)
            at(edited["content"], path)["array"] = written(target / "model/arrays", content)
            (target / "model/model.json").write_text(signed(edited))
            yield f"{path}: {content[:90]}"


def written(arrays, content):
    name = hashlib.sha256(content).hexdigest()
    (arrays / f"{name}.npy").write_bytes(content)
    return name


def use(folder):
    """Load a model and do with it what its commands do."""
    model = load_saved(folder)
    model.describe()
    X = np.random.default_rng(0).normal(size=(3, 12))
    asked = model.candidates_for(None, False)
    model.table(model.checked(X), 0, model.usual_top(), asked, scores=model.kind == "zero-shot")
    model.predict(X)
    if model.kind == "zero-shot" and model.signatures.width < 1000:
        new = {"new": np.linspace(0, 1, model.signatures.width), "other": np.ones(model.signatures.width)}
        model.decision_function(X, generalised=True)
        model.predict(X, new, generalised=True)


def failures_of(folder, target, step):
    """Return how many of the edits, every ``step``-th of them, were refused, and what ended in another exception."""
    refused, failures = 0, []
    for edit in islice(edited_models(folder, target), 0, None, step):
        try:
            use(target / "model")
        except ZslplatError:
            refused += 1
        except Exception as error:
            failures.append(f"{edit}: {type(error).__name__}: {error}")
    return refused, failures


@pytest.mark.parametrize("name", MODELS)
def test_an_edited_model_is_used_or_refused_in_one_clear_error(name, saved, tmp_path):
    use(saved(name))
    refused, failures = failures_of(saved(name), tmp_path / "edited", 7)
    assert not failures, "\n".join(failures[:20])
    assert refused > 50


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_every_edit_of_a_model_is_used_or_refused_in_one_clear_error(name, saved, tmp_path):
    _, failures = failures_of(saved(name), tmp_path / "edited", 1)
    assert not failures, "\n".join(failures[:20])


def refusal(folder, target, edit):
    """Return what loading and using a model says after an edit of its content."""
    content = copy.deepcopy(dict(read_model(folder).content))
    edit(content)
    shutil.copytree(folder.parent, target)
    write_model(target / "model", content)
    with pytest.raises(StoreError) as caught:
        use(target / "model")
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        (
            "eszsl",
            lambda c: c["state"].update(decision_function="x"),
            "eszsl learns nothing that is called 'decision_f",
        ),
        ("ksc", lambda c: c["state"].update(fit="x"), "ksc learns nothing that is called 'fit'"),
        ("eszsl", lambda c: c["facts"]["classes"].pop(), "expected 12 names of classes"),
        ("eszsl", lambda c: c["facts"]["seen_classes"].pop(), "expected 8 names of classes"),
        ("ksc", lambda c: c["facts"]["classes"].pop(), "the model names 3 classes"),
        ("ksc", lambda c: c.update(kind="zero-shot"), "is not as it was written"),
        ("eszsl", lambda c: c["state"].clear(), "is not as it was written"),
        ("semfs", lambda c: c["state"].update(ranking_=np.zeros(12)), "none of 12 features"),
    ],
)
def test_what_is_not_as_written_is_said_with_the_way_out(name, edit, said, saved, tmp_path):
    text = refusal(saved(name), tmp_path / "edited", edit)
    assert said in text
    assert "restore it from a copy" in text or "evaluate the experiment again" in text


def test_a_header_that_declares_more_than_its_file_holds_takes_no_memory(saved, tmp_path):
    shutil.copytree(saved("eszsl").parent, tmp_path / "edited")
    folder = tmp_path / "edited/model"
    whole = json.loads((folder / "model.json").read_text())
    huge = next(content for content in headers() if b"(1000000000000,)" in content)
    at(whole["content"], array_places(whole["content"])[0])["array"] = written(folder / "arrays", huge)
    (folder / "model.json").write_text(signed(whole))
    with pytest.raises(StoreError, match=r"mmap length is greater than file size"):
        load_saved(folder)


def test_an_array_whose_name_leads_out_of_the_model_is_refused(saved, tmp_path):
    shutil.copytree(saved("eszsl").parent, tmp_path / "edited")
    folder = tmp_path / "edited/model"
    whole = json.loads((folder / "model.json").read_text())
    at(whole["content"], array_places(whole["content"])[0])["array"] = "../../../secret"
    (folder / "model.json").write_text(signed(whole))
    with pytest.raises(StoreError, match="an array without a name"):
        load_saved(folder)
