"""The feature card that a name, a file or an address means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from zslplat.data.catalogue import find_data_set, parse_dataset
from zslplat.data.feature_card import CARD_FILE, FeatureCard, card_of, card_path, load_card
from zslplat.errors import DataError
from zslplat.registry import registry
from zslplat.settings import masked_url
from zslplat.spec import Spec
from zslplat_papers.fetching.croissant import card_of_croissant
from zslplat_papers.fetching.download import DOWNLOADS, fetch, remove_download


def find_card(text: str, root: Path) -> tuple[Spec, FeatureCard | None, str]:
    """Return the data set that a text means with its options, its card, and who states the card, in words.

    The text is an address or a path of a card (TOML or Croissant JSON-LD), or the name of a data set, with
    ``features=`` or without. The card of a name is that which a plugin registers by the hook ``zslplat_cards``; None
    where there is none. Raises :class:`DataError` for what is no card, and what :func:`fetch` raises.
    """
    if text.startswith(("http://", "https://")):
        name = Path(urlsplit(text).path).name or CARD_FILE
        target = root / DOWNLOADS / f"card-{name}"
        target.unlink(missing_ok=True)
        try:
            named, card = read_any_card(fetch(text, target, most=_MOST_BYTES, remedy=_OTHER_ADDRESS))
        finally:
            if target.is_file():
                remove_download(target)
        return Spec(named or _stem(Path(name))), card, f"the card at {masked_url(text)}"
    path = Path(text).expanduser()
    if path.suffix in (".toml", ".json") and path.is_file():
        named, card = read_any_card(path)
        stem = path.absolute().parent.name if path.name == CARD_FILE else _stem(path)
        return Spec(named or stem), card, f"the card {path}"
    spec = parse_dataset(text) if text.strip() else Spec(text)
    components = registry()
    if not components.claims("cards", spec.name):
        return spec, None, ""
    entry = components.entry("cards", spec.name)
    content = entry.target
    card = card_of(content, f"card {entry.full_name}") if isinstance(content, Mapping) else load_card(Path(content))
    return spec, card, f"the card of {entry.plugin.distribution}"


def card_beside(text: str, root: Path) -> tuple[str, FeatureCard]:
    """Return the name of a data set and its card: that beside the data, or that which the text means.

    Raises :class:`DataError` where there is none.
    """
    spec = parse_dataset(text) if not text.startswith(("http://", "https://")) else Spec("card")
    place = next((one[0] for root_ in (root, Path()) if (one := find_data_set(root_, spec.name))), Path(spec.name))
    if place.exists() and card_path(place).is_file():
        return spec.name, load_card(card_path(place))
    spec, card, _ = find_card(text, root)
    if card is None:
        near = f"; {card_path(place)} would be its card" if place.exists() else ""
        raise DataError(f"{text}: no feature card, beside the data or of a plugin{near}")
    return spec.name, card


def read_any_card(path: Path) -> tuple[str, FeatureCard]:
    """Return the name in a card and the card: TOML, which has no name, or Croissant JSON-LD."""
    if path.suffix != ".json":
        return "", load_card(path)
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: cannot be read as Croissant JSON-LD ({error}); expected a card in that form"
        ) from error
    return card_of_croissant(content, str(path))


def _stem(path: Path) -> str:
    return path.name.removesuffix(path.suffix).removesuffix(".card")


_MOST_BYTES = 1 << 22
_OTHER_ADDRESS = "give that of another card: zslplat data fetch https://example.org/birds.card.toml"
