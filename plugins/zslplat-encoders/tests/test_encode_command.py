"""``encode`` from a folder of images and a list of names to a data set that tasks take."""

import numpy as np
import pytest
from drawn_images import draw_folder
from json_documents import checked

import zslplat

pytest.importorskip("skimage", reason="scikit-image is not installed: zslplat-encoders[handcrafted]")

WORDS = {"red": 0, "green": 1, "blue": 2, "circle": 3, "square": 4}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = draw_folder(tmp_path / "images", rows=8)
    (tmp_path / "names.txt").write_text("".join(f"{name}\n" for name in names))
    lines = [" ".join([word, *(str(int(i == k)) for k in range(5))]) for word, i in WORDS.items()]
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "att.csv").write_text("class,round\n" + "".join(f"{n},{int('circle' in n)}\n" for n in names))
    return tmp_path


@pytest.fixture
def encode(call):
    def run(*options):
        done = call("encode", *options)
        return done.returncode, done.stdout, done.stderr

    return run


USUAL = ("images", "--names", "names.txt", "-i", "hog(size=32)", "-i", "colours(size=32)", "-q")
TEXTS = ("-t", "words=word-vectors(weights=glove.txt)", "--unseen", "red circle+blue square")


def test_images_and_names_become_a_data_set_that_zero_shot_methods_learn_from(folder, encode):
    code, out, err = encode(*USUAL, *TEXTS, "--attributes", "att.csv", "--to", "data")
    assert (code, out.splitlines()[0]) == (0, "48 images of 6 classes; views: hog, colours"), err
    data = zslplat.load_dataset("data")
    assert {name: values.values.shape for name, values in data.signatures.items()} == {"words": (6, 5), "att": (6, 1)}
    assert {name: len(rows) for name, rows in data.splits.items()} == {"train": 24, "test_seen": 8, "test_unseen": 16}
    unseen = {data.class_names[label] for label in data.y[data.rows("test_unseen")]}
    assert unseen == {"red circle", "blue square"}
    result = zslplat.evaluate("eszsl", "data(signatures=words)", "zsl(folds=2)", test=True, workers=1)
    assert result.metrics["per_class_accuracy"] > 0.7  # guessing: 0.5


def test_the_card_says_what_made_the_features(folder, encode):
    encode(*USUAL, *TEXTS, "--attributes", "att.csv", "--to", "data")
    card = (folder / "data" / "card.toml").read_text()
    for text in (
        "cell 8, orientations 9",
        "resized to 32 x 32",
        "scikit-image",
        'unit vectors of: {}"',
        "glove.txt",
        "table att.csv",
    ):
        assert text in card
    assert 'unit vectors of: {}"' in card
    assert "table att.csv" in card
    assert str(folder) not in card


def test_the_same_command_again_changes_nothing(folder, encode):
    encode(*USUAL, *TEXTS, "--to", "data")
    before = {path.name: path.read_bytes() for path in (folder / "data").iterdir()}
    assert encode(*USUAL, *TEXTS, "--to", "data")[0] == 0
    assert {path.name: path.read_bytes() for path in (folder / "data").iterdir()} == before


def test_names_without_images_are_noted(folder, encode):
    with (folder / "names.txt").open("a") as file:
        file.write("red star\n")
    code, out, err = encode(*USUAL[:-1], *TEXTS, "--to", "data")
    assert code == 0
    assert "note: names.txt: 1 of 7 names have no images: red star" in out + err


def test_signatures_are_added_to_a_data_set_and_several_are_joined(folder, encode):
    encode(*USUAL, *TEXTS, "--to", "data")
    code, out, _ = encode("-t", "plain=word-vectors(weights=glove.txt)", "--prompts", "name", "--to", "data")
    assert (code, out.splitlines()[0]) == (0, "signatures plain: 6 x 5")
    joined = zslplat.load_dataset("data(signatures=0.25*words+0.75*plain)").signature_set().values
    assert joined.shape == (6, 10)
    np.testing.assert_allclose((joined[:, :5] ** 2).sum(axis=1), 0.25)
    np.testing.assert_allclose((joined[:, 5:] ** 2).sum(axis=1), 0.75)


def test_names_alone_become_a_table_of_signatures(folder, encode):
    code, _, _ = encode("--names", "names.txt", "-t", "word-vectors(weights=glove.txt)", "--to", "text.csv")
    lines = (folder / "text.csv").read_text().splitlines()
    assert (code, lines[0], len(lines)) == (0, "class,t0,t1,t2,t3,t4", 7)


def test_a_class_of_unknown_words_is_an_error_whatever_the_prompt(folder, encode):
    """Words around a name, which the vectors may well have, are no signature of the class."""
    with (folder / "glove.txt").open("a") as file:
        file.write("photo 1 1 1 1 1\n")
    (folder / "names.txt").write_text("red circle\nheptagon\n")
    for prompts in ((), ("--prompts", "photo")):
        code, _, err = encode(
            "--names", "names.txt", "-t", "word-vectors(weights=glove.txt)", *prompts, "--to", "t.csv"
        )
        assert code == 1
        assert "1 classes have no word that the encoder knows: heptagon" in err


def test_begun_anew_only_what_was_written_goes(folder, encode):
    encode(*USUAL, *TEXTS, "--attributes", "att.csv", "--to", "data")
    (folder / "data" / "notes.txt").write_text("mine")
    (folder / "data" / "signatures-mine.csv").write_text("class,a\n")
    code, _, err = encode("images", "--names", "names.txt", "-i", "hog(size=16)", "--restart", "-q", "--to", "data")
    assert code == 0, err
    left = {path.name for path in (folder / "data").iterdir()}
    assert {"notes.txt", "signatures-mine.csv", "features-hog.npy"} <= left
    assert not left & {"features-colours.npy", "signatures-words.npy", "signatures-att.csv"}


def test_images_that_cannot_be_read_are_listed_or_left_out(folder, encode):
    (folder / "images" / "red_circle" / "3.png").write_bytes(b"")
    code, _, err = encode(*USUAL, "--to", "data")
    assert code == 1
    assert "1 of 48 images cannot be read: red_circle/3.png: is empty" in err
    assert "--skip-unreadable" in err
    code, out, _ = encode(*USUAL, "--to", "data", "--skip-unreadable")
    assert (code, out.splitlines()[0]) == (0, "47 images of 6 classes, 1 unreadable left out; views: hog, colours")
    assert (folder / "data" / "unreadable.txt").read_text() == "red_circle/3.png: is empty\n"
    assert zslplat.load_dataset("data").X.shape[0] == 47


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("images", "--to", "d"), "add --image-encoder hog"),
        (("images", "-i", "hogg", "--to", "d"), "did you mean hog?"),
        (("images", "-i", "word-vectors", "--to", "d"), "encodes texts, not images"),
        (("images", "-i", "hog", "-i", "hog", "--to", "d"), "is given twice"),
        (("images", "-i", "hog(size=2)", "--to", "d"), "size=2 is out of range"),
        (("-t", "word-vectors", "--to", "d"), "no file ''"),
        (("--to", "d"), "nothing to encode"),
        (("images", "-i", "hog", "--to", "images"), "holds other files"),
        (("images", "-i", "hog", "--unseen", "9", "--to", "d"), "a count below 6"),
    ],
)
def test_what_cannot_be_done_is_one_line_that_says_why(folder, encode, options, text):
    code, _, err = encode(*options)
    assert code in (1, 2)
    assert text in err
    assert "Traceback" not in err


def test_the_result_is_json_where_it_is_asked_for(folder, encode):
    code, out, _ = encode(*USUAL, *TEXTS, "--to", "data", "--json")
    content = checked("encode", out)
    assert (code, content["rows"], content["signatures"]) == (0, 48, {"words": [6, 5]})
