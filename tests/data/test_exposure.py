"""Which classes an encoder has seen: names are matched as a reader would, and the numbers go wherever results go."""

import json

import numpy as np
import pytest
import tomli_w
from array_toys import save, toy

from zslplat.data.exposure import LISTS, exposures_of, match_classes
from zslplat.front.datasets import load_dataset

# (class, its name in ImageNet-1k) as the public sets write them, judged by eye.
SEEN = {
    "killer+whale": "killer whale",
    "persian+cat": "Persian cat",
    "090.Red_breasted_Merganser": "red-breasted merganser",
    "candy_store": "confectionery, candy store",
    "diningtable": "dining table",
    "Lions": "lion",
    "n02129604": "tiger",
    "n02129604 big cat": "tiger",
}
UNCERTAIN = {
    "wolf": "timber wolf",  # a kind of it was seen
    "073.Blue_Jay": "jay",  # it is a kind of what was seen
    "mosque_indoor": "mosque",
    "mouse": "mouse",  # of a computer
    "crane": "crane",
    "pig": "hog, pig",
    "horse": "hippopotamus, river horse",  # wrong, and so shown with the name
}
NOT_SEEN = ("giraffe", "dolphin", "bobcat", "seal", "191.Red_headed_Woodpecker", "vineyard", "n99999999", "bus depot")


@pytest.mark.parametrize("names", [SEEN, UNCERTAIN, dict.fromkeys(NOT_SEEN)], ids=["seen", "uncertain", "not seen"])
def test_names_are_matched_as_a_reader_would(names):
    seen, uncertain = match_classes(list(names), "imagenet-1k")
    assert seen == (names if names is SEEN else {})
    assert uncertain == (names if names is UNCERTAIN else {})


def test_a_list_has_its_classes_each_once():
    from importlib.resources import files

    text = files("zslplat.data").joinpath(LISTS["imagenet-1k"]).read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    assert len({identifier for identifier, _ in rows}) == len(rows) == 1000
    seen, uncertain = match_classes([identifier for identifier, _ in rows], "imagenet-1k")
    assert (len(seen), uncertain) == (1000, {})


def test_classes_of_a_card_may_have_several_names():
    assert match_classes(["felines", "dog", "big_cat"], ["cat, feline", "n02084071 dogs"]) == (
        {"felines": "cat, feline", "dog": "dogs"},
        {"big_cat": "cat"},
    )


def test_a_class_with_a_wordnet_id_is_compared_by_name_where_the_list_has_no_ids():
    names = ["n02129604_tiger", "n02114367 wolf", "n02439033_giraffe"]
    assert match_classes(names, ["tiger", "timber wolf"]) == (
        {"n02129604_tiger": "tiger"},
        {"n02114367 wolf": "timber wolf"},
    )


def test_a_card_of_one_encoder_says_nothing_of_other_features(tmp_path):
    values = toy()
    X = values.pop("X")
    np.savez(tmp_path / "toy.npz", X_res101=X, X_clip=X, **values)
    card = {"features": {"res101": {"pretraining": ["lion"]}}}
    (tmp_path / "toy.card.toml").write_text(tomli_w.dumps(card))

    def encodings(text):
        return list(load_dataset(text, data_root=tmp_path).source.get("encodings", {}).get("features", {}))

    assert encodings("toy(features=clip)") == []
    assert encodings("toy(features=res101)") == encodings("toy(features=res101+clip)") == ["res101"]


def save_with_card(folder, pretraining):
    """Write a data set of which the last two classes, crane and zebra, are unseen, with a card of its features."""
    save(folder, class_names=np.array(["lion", "tiger", "giraffe", "wolf", "crane", "zebra"]))
    card = {"features": {"X": {"encoder": "ResNet-101", "pretraining": pretraining}}}
    (folder / "toy.card.toml").write_text(tomli_w.dumps(card))
    return ("--data-root", folder)


def test_unseen_classes_that_were_seen_are_counted_in_info_check_and_compare(call, tmp_path):
    root = save_with_card(tmp_path, "imagenet-1k")
    line = "1 of 2 unseen classes were in the pre-training of X (imagenet-1k): zebra; 1 uncertain: crane (crane)"
    done = call("data", "info", "toy", *root)
    assert f"seen before   {line}" in done.stdout
    assert f"ZSP515 toy: {line}" in " ".join(done.stdout.split())
    assert "made by       features X: ResNet-101; trained on imagenet-1k" in done.stdout
    assert call("data", "check", "toy", *root).returncode == 1
    for method in ("eszsl", "sae"):
        assert call("run", method, "--dataset", "toy", "--test", *root).returncode == 0
    assert f"toy: {line}" in " ".join(call("compare").stdout.split())


def test_a_pretraining_without_a_list_is_said_to_be_unknown(call, tmp_path):
    root = save_with_card(tmp_path, "laion-400m")
    done = json.loads(call("data", "info", "toy", *root, "--json").stdout)
    assert done["exposures"][0]["seen"] is None
    (finding,) = (one for one in done["findings"] if one["code"] == "ZSP515")
    line = "how many of 2 unseen classes were in the pre-training of X (laion-400m) is not known"
    assert line in str(finding)


def test_uncertain_matches_alone_raise_no_finding(call, tmp_path):
    root = save_with_card(tmp_path, ["timber wolf", "tower crane"])
    done = json.loads(call("data", "info", "toy", *root, "--json").stdout)
    assert done["exposures"][0]["uncertain"] == {"crane": "tower crane"}
    assert "ZSP515" not in [one["code"] for one in done["findings"]]


def test_data_without_unseen_classes_or_without_a_card_are_not_spoken_of():
    assert exposures_of(load_dataset("digit-pairs")) == []
