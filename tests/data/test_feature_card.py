"""Feature cards: what is written is read again, and what a card cannot hold is refused with its key."""

import pytest
import tomli_w

from zslplat.data.feature_card import CARD_FILE, Download, EncoderFacts, FeatureCard, card_of, load_card
from zslplat.errors import DataError

FULL = FeatureCard(
    "birds",
    "CC0",
    "me, 2020",
    "us",
    {"X": "rf504"},
    (Download(("https://a.example/x.zip", "https://b.example/x.zip"), "a" * 64, 12, "x.zip", "data/birds"),),
    {
        "clip": EncoderFacts("ViT-B-32", "openai", "b" * 64, "resize 224", "imagenet-1k"),
        "z": EncoderFacts(pretraining=("ox",)),
    },
    {"clip": EncoderFacts("ViT-B-32", preprocessing='a photo of a {}\n"quoted"')},
)


@pytest.mark.parametrize("card", [FULL, FeatureCard()])
def test_what_is_written_is_read_again(card, tmp_path):
    path = tmp_path / CARD_FILE
    path.write_text(card.to_toml())
    assert load_card(path) == card
    assert card_of(card.to_json(), "JSON") == card


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"license": "CC0"}, "'license'; did you mean licence"),
        ({"licence": 3}, "licence is 3; expected a text"),
        ({"features": {"clip": "ViT"}}, "features.clip: 'ViT'; expected a table"),
        ({"features": {"clip": {"weight": "x"}}}, "'weight'; did you mean weights"),
        ({"features": {"clip": {"weights_sha256": "abc"}}}, "weights_sha256 is 'abc'; expected 64 hex digits"),
        ({"features": {"clip": {"pretraining": [1]}}}, "expected a text or a list of texts"),
        ({"files": {"sha256": "x"}}, "expected tables"),
        ({"files": [{"size": 3}]}, "addresses are missing"),
        ({"files": [{"addresses": "https://a.example"}]}, "expected a list of texts"),
        ({"files": [{"addresses": ["https://a.example"], "size": -1}]}, "expected a number of bytes"),
    ],
)
def test_what_a_card_cannot_hold_is_refused(content, message, tmp_path):
    path = tmp_path / CARD_FILE
    path.write_text(tomli_w.dumps(content))
    with pytest.raises(DataError, match=CARD_FILE) as error:
        load_card(path)
    assert message in str(error.value)
