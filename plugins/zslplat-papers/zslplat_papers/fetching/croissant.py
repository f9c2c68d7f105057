"""Feature cards as Croissant, the JSON-LD of MLCommons for data sets (version 1.0), written and read.

Croissant names one address of a file, and a digest of each. Further addresses are ``sameAs``, what was done to the
images is ``rai:dataPreprocessingProtocol``, and the whole card stands in ``zslplat:card``, so that nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from zslplat.data.feature_card import FeatureCard, card_of
from zslplat.errors import DataError

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
CARD_KEY = "zslplat:card"
_ENCODINGS = {".zip": "application/zip", ".npy": "application/octet-stream", ".csv": "text/csv"}
_TERMS = (
    *("citeAs", "column", "extract", "field", "fileProperty", "fileObject", "fileSet", "format", "includes"),
    *("isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform", "equivalentProperty"),
)
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{term: f"cr:{term}" for term in _TERMS},
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "zslplat": "urn:zslplat:",
}


def croissant_of(name: str, card: FeatureCard) -> dict[str, Any]:
    """Return a card as Croissant JSON-LD; raises :class:`DataError` where the card lacks what that demands.

    >>> card = card_of({"files": [{"addresses": ["https://example.org/x.zip"], "sha256": "0" * 64}]}, "card")
    >>> croissant_of("birds", card)["distribution"][0]["contentUrl"]
    'https://example.org/x.zip'
    """
    lacking = next((one.file_name for one in card.files if not one.sha256), "")
    if lacking:
        raise DataError(
            f"{name}: the card states no SHA-256 of {lacking}, which Croissant demands; `zslplat data fetch {name}` "
            "keeps that of the first download in the card beside the data"
        )
    content: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": card.description or name,
        "conformsTo": CONFORMS_TO,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": one.file_name,
                "name": one.file_name,
                "contentUrl": one.addresses[0],
                **({"sameAs": list(one.addresses[1:])} if one.addresses[1:] else {}),
                **({"contentSize": f"{one.size} B"} if one.size else {}),
                "encodingFormat": _ENCODINGS.get(one.file_name[one.file_name.rfind(".") :], "application/octet-stream"),
                "sha256": one.sha256,
            }
            for one in card.files
        ],
        CARD_KEY: card.to_json(),
    }
    content |= {key: text for key, text in (("license", card.licence), ("citeAs", card.citation)) if text}
    if card.made_by:
        content["creator"] = {"@type": "sc:Person", "name": card.made_by}
    steps = [f"{part}: {one.encoder}; {one.preprocessing}" for part, one in card.features.items()]
    if steps:
        content["rai:dataPreprocessingProtocol"] = steps
    return content


def croissant_text(name: str, card: FeatureCard) -> str:
    """Return the content of a file of Croissant; raises what :func:`croissant_of` does."""
    return json.dumps(croissant_of(name, card), indent=2, ensure_ascii=False) + "\n"


def card_of_croissant(content: Any, where: str) -> tuple[str, FeatureCard]:
    """Return the name and the card in Croissant JSON-LD; raises :class:`DataError` for what is none.

    Of a file that zslplat has not written, name, texts and files are read; files without an address are left out.
    """
    version = content.get("conformsTo", "") if isinstance(content, Mapping) else ""
    if "mlcommons.org/croissant" not in str(version):
        raise DataError(f"{where}: is no Croissant: conformsTo is {version!r}; expected {CONFORMS_TO!r}")
    name = str(content.get("name", ""))
    if CARD_KEY in content:
        return name, card_of(content[CARD_KEY], where)
    files = []
    for one in content.get("distribution", ()):
        address = str(one.get("contentUrl", ""))
        if not address.startswith(("http://", "https://")):
            continue
        same = one.get("sameAs", [])
        size = str(one.get("contentSize", "")).removesuffix("B").strip()
        files.append(
            {
                "addresses": [address, *([same] if isinstance(same, str) else same)],
                "name": str(one.get("name", "")),
                "sha256": str(one.get("sha256", "")).lower(),
                "size": int(size) if size.isdecimal() else 0,
            }
        )
    texts = {"description": "description", "license": "licence", "citeAs": "citation"}
    card = {ours: _text(content[theirs]) for theirs, ours in texts.items() if theirs in content}
    card |= {"made_by": _text(content["creator"])} if "creator" in content else {}
    return name, card_of({**card, "files": files}, where)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    return str(value.get("name", "") or value.get("url", "")) if isinstance(value, Mapping) else str(value)
