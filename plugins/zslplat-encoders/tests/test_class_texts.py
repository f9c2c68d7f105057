"""Names become texts, and texts signatures: prompts, descriptions, words out of vocabulary."""

import gzip

import numpy as np
import pytest

from zslplat.errors import DataError, MissingDataError, UsageError
from zslplat_encoders.class_texts import (
    PROMPTS,
    encode_classes,
    read_descriptions,
    read_names,
    read_prompts,
    words_unknown,
)
from zslplat_encoders.word_vectors import WordVectors

VECTORS = "4 3\nred 1 0 0\ngreen 0 1 0\nsquare 0 0 2\nParis 3 4 0\n"


@pytest.fixture
def vectors(tmp_path):
    (tmp_path / "glove.txt").write_text(VECTORS)
    encoder = WordVectors(weights=str(tmp_path / "glove.txt"))
    encoder.open()
    return encoder


def test_labels_find_their_names_whatever_their_spelling(tmp_path):
    (tmp_path / "names.txt").write_text("Laysan Albatross\nred fox\n")
    classes = read_names(tmp_path / "names.txt", ["002.Laysan_Albatross", "red-fox"])
    assert classes.names == ("Laysan Albatross", "red fox")
    assert classes.class_of_label == {"002.Laysan_Albatross": 0, "red-fox": 1}
    assert read_names(None, ["002.Laysan_Albatross"]).names == ("Laysan Albatross",)


@pytest.mark.parametrize("name", ["names.txt", "names.csv"])
def test_a_list_may_say_which_label_has_which_name(tmp_path, name):
    mark = "\t" if name.endswith("txt") else ","
    (tmp_path / name).write_text(f"n01440764{mark}tench\nn01443537{mark}goldfish\n")
    classes = read_names(tmp_path / name, ["n01443537", "n01440764"])
    assert (classes.names, classes.class_of_label["n01443537"]) == (("tench", "goldfish"), 1)


def test_labels_without_a_name_are_listed_with_the_line_that_mends_it(tmp_path):
    (tmp_path / "names.txt").write_text("wren\nowl\n")
    with pytest.raises(DataError, match=r"no name for 1 of 2 labels: wrenn; did you mean 'wren'.*'wrenn<tab>its name'"):
        read_names(tmp_path / "names.txt", ["wrenn", "owl"])
    with pytest.raises(DataError, match="wrenn; add a line"):  # the near name is that of another label
        read_names(tmp_path / "names.txt", ["wrenn", "wren"])
    (tmp_path / "names.txt").write_text("wren\nwren\n")
    with pytest.raises(DataError, match="'wren' twice"):
        read_names(tmp_path / "names.txt", ["wren"])
    with pytest.raises(MissingDataError, match="cannot be read"):
        read_names(tmp_path / "none.txt", ["wren"])


def test_signatures_are_the_mean_of_unit_vectors_of_the_prompts(vectors):
    texts = [["red square", "a red"], ["green", "green green"]]
    signatures = encode_classes(vectors, texts, ["x", "y"])
    first = np.array([0.5, 0, 1]) / np.linalg.norm([0.5, 0, 1]) + np.array([1, 0, 0])
    np.testing.assert_allclose(signatures, [first / np.linalg.norm(first), [0, 1, 0]], rtol=1e-6)


def test_prompts_come_by_name_or_from_a_file(tmp_path):
    assert read_prompts("photo") == PROMPTS["photo"] == ("a photo of a {}.",)
    (tmp_path / "prompts.txt").write_text("a {}.\nthe {}\n")
    assert read_prompts(str(tmp_path / "prompts.txt")) == ("a {}.", "the {}")
    (tmp_path / "prompts.txt").write_text("a thing\n")
    with pytest.raises(DataError, match=r"'a thing' does not hold \{\} once"):
        read_prompts(str(tmp_path / "prompts.txt"))
    with pytest.raises(UsageError, match="expected name, photo, ensemble, or a file"):
        read_prompts("foto")


def test_a_class_may_have_several_descriptions(tmp_path):
    (tmp_path / "said.csv").write_text('wren,"small, brown"\nOwl,flies at night\nwren,sings\nother,x\n')
    assert read_descriptions(tmp_path / "said.csv", ["owl", "wren"]) == [["flies at night"], ["small, brown", "sings"]]
    with pytest.raises(DataError, match=r"no line of 1 of 1 classes: kea; add 'kea,its text'"):
        read_descriptions(tmp_path / "said.csv", ["kea"])


def test_words_out_of_vocabulary_are_reported_and_left_out(vectors):
    assert words_unknown(vectors, ["red heptagon", "square", "paris Paris"]) == {
        "red heptagon": ["heptagon"],
        "paris Paris": ["paris"],
    }
    np.testing.assert_allclose(vectors.encode_texts(["red heptagon", "Red"]), [[1, 0, 0], [1, 0, 0]])
    with pytest.raises(DataError, match="1 classes have no word that the encoder knows: heptagon"):
        encode_classes(vectors, [["heptagon"], ["red"]], ["heptagon", "red"])


def test_word_vectors_may_be_packed_and_are_checked(tmp_path, vectors):
    with gzip.open(tmp_path / "glove.gz", "wt") as file:
        file.write(VECTORS)
    packed = WordVectors(weights=str(tmp_path / "glove.gz"))
    packed.open()
    assert np.array_equal(packed.encode_texts(["red square"]), vectors.encode_texts(["red square"]))
    (tmp_path / "bad.txt").write_text("red 1 0 0\ngreen 1 0\n")
    broken = WordVectors(weights=str(tmp_path / "bad.txt"))
    broken.open()
    with pytest.raises(DataError, match="the line of 'green' has no 3 numbers"):
        broken.encode_texts(["green"])
    with pytest.raises(MissingDataError, match=r"no file 'none\.txt'"):
        WordVectors(weights="none.txt").open()
