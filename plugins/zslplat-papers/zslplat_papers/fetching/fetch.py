"""Fetch the files of a data set from the addresses on its feature card; loading it is another step."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from zslplat.data.catalogue import EXPECTED, find_data_set
from zslplat.data.feature_card import CARD_FILE, Download, FeatureCard, card_path, load_card, unfit_for_file
from zslplat.data.store.atomic_files import draft
from zslplat.errors import DataError, UnknownNameError, UsageError, quoted
from zslplat.keys import key_of
from zslplat.names import unfit
from zslplat.registry import names, one_line
from zslplat.settings import masked_url
from zslplat_papers.fetching.archives import ArchiveError, unpack_datasets, vacant
from zslplat_papers.fetching.cards import find_card
from zslplat_papers.fetching.download import (
    ATTEMPTS,
    DOWNLOADS,
    FirstDigest,
    Progress,
    check_digest,
    checked_address,
    fetch,
    first_digest,
    record_path,
    remember_digest,
    remove_download,
)

HUB = "hub:"
FIRST = "nothing: no SHA-256 is stated anywhere; this first one is kept, and later downloads must have it"


@dataclass(frozen=True)
class Fetched:
    """Where the files of a data set lie, whether they came just now, and from where; empty where that is not recorded.

    ``also``: further data sets that came with it. ``trust``: what the digest of the files is compared with, in words.
    """

    name: str
    folder: Path
    new: bool
    url: str = ""
    sha256: str = ""
    also: tuple[str, ...] = ()
    trust: str = ""


def fetch_set(
    text: str,
    root: Path,
    registered: Collection[str] = (),
    *,
    url: str | None = None,
    sha256: str = "",
    progress: Progress | None = None,
    keep_archive: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> Fetched:
    """Bring the files of a data set under the data root, where they are not there yet.

    ``text``: the name of a data set with a card, with ``features=`` or without, the path or address of a card
    (:func:`~zslplat_papers.fetching.cards.find_card`), or ``hub:owner/name`` (:func:`fetch_from_hub`). It is there
    where the root has a folder or file of its name in a known layout, with these features. ``registered``: names of
    data sets that are no files of the root. ``url`` takes the place of the addresses of a card with one file. The
    addresses are tried in their order, and ``note`` is told why one was passed over. What came is compared with
    ``sha256`` (of a card with one file), else with the card, else with the first download.

    Raises :class:`UnknownNameError` for a name that nothing answers to, :class:`UsageError` for a name that no folder
    of the root can have, a malformed ``sha256`` or address, and :class:`DataError` for a data set whose files no
    address is known of, where something else is in the way, where other weights made the features that are there, and
    where no address gives the file.
    """
    check_digest(sha256)
    if text.startswith(HUB):
        return fetch_from_hub(text.removeprefix(HUB), root)
    if url is not None:
        checked_address(url)
    spec, card, author = find_card(text, root)
    name, features = spec.name, [one for one in str(spec.parameters.get("features", "")).split("+") if one]
    wrong = unfit_for_file(name)
    if wrong:
        raise UsageError(
            f"data set {quoted(name, 80)}: {wrong}; expected {_or(names('cards'))}, a feature card, or "
            "the name of a data set of the data root"
        )
    place, layout = find_data_set(root, name) or (root / name, None)
    lacking = [one for one in features if layout is not None and not _has_features(layout.place_of(place), one)]
    if layout is not None and not lacking:
        if card is not None:
            _check_weights(place, card, author)
        return _as_asked(_there(name, place), sha256)
    if card is None and name in registered:
        raise DataError(
            f"{name}: nothing is fetched for it: it is built in or reads files of your own (`zslplat show {name}` "
            f"says which); addresses are known for {', '.join(names('cards'))}"
        )
    if layout is None and not vacant(place):
        what = f"holds no data set in a layout that is known (expected {EXPECTED})"
        if not place.is_dir() or place.is_symlink():
            what = f"is a {'link' if place.is_symlink() else 'file'}, and a data set of this name would be a folder"
        raise DataError(f"{place} {what}; move it away, or give another --data-root")
    if card is None:
        raise UnknownNameError("data set to fetch", name, names("cards"))
    files = _files_of(name, card, features, url, sha256)
    if lacking and any(_is_archive(one) for one in files):
        raise DataError(
            f"{place} is there without features {', '.join(lacking)}; move it away, and the same command fetches them"
        )
    bringing = _Bringing(name, root, card, author, sha256, progress, keep_archive, note)
    return bringing.bring(files)


def fetch_from_hub(name: str, root: Path) -> Fetched:
    """Write a data set of the Hugging Face hub into the data root as Parquet, a file for each split, with its card.

    ``name``: ``owner/name`` on the hub, or a folder that ``save_to_disk`` of the library ``datasets`` has written.
    Raises :class:`DataError` where the library is missing or does not get the data, and where something is in the way.
    """
    folder = Path(name).expanduser()
    target = root / (folder.name if folder.is_dir() else name.rpartition("/")[2])
    if not vacant(target):
        return Fetched(target.name, target, False)
    try:
        import datasets
    except ImportError as error:
        raise DataError(
            f"{HUB}{name}: the library datasets is not installed; pip install 'zslplat-papers[hub]'"
        ) from error
    try:
        loaded = datasets.load_from_disk(str(folder)) if folder.is_dir() else datasets.load_dataset(name)
        splits = loaded if isinstance(loaded, dict) else {"train": loaded}
        root.mkdir(parents=True, exist_ok=True)
        with draft(root, ".fetch-") as temporary:
            new = temporary / target.name
            new.mkdir()
            for split, rows in splits.items():
                rows.to_parquet(str(new / f"{split}.parquet"))
            stated = next(iter(splits.values())).info
            texts = (stated.description or "", stated.license or "", stated.citation or "")
            card = FeatureCard(*texts, made_by=f"Hugging Face hub: {name}")
            (new / CARD_FILE).write_text(card.to_toml(), encoding="utf-8")
            if target.is_dir():
                target.rmdir()
            os.rename(new, target)
    except Exception as error:  # of whatever kind: that of the library, of the network or of the disk
        raise DataError(f"{HUB}{name}: {one_line(error)}; correct the name, or look whether the hub answers") from error
    return Fetched(target.name, target, True, trust="the hub and the library datasets, which compare no digest for it")


def _files_of(name: str, card: FeatureCard, features: Sequence[str], url: str | None, sha256: str) -> list[Download]:
    """Return the files of a card that bring some features; raises where there are none."""
    offered = dict.fromkeys([*card.features, *(feature for one in card.files for feature in one.features)])
    for feature in features:
        if offered and feature not in offered:
            raise UnknownNameError(f"features on the card of {name}:", feature, offered)
    files = [one for one in card.files if not features or not one.features or set(features) & set(one.features)]
    if not files:
        raise DataError(f'{name}: its card names no files; add [[files]] with addresses = ["https://..."]')
    if len(files) > 1 and (url is not None or sha256):
        what = "--sha256 is the digest" if url is None else "--url is the address"
        advice = "leave it out, or choose one of them with features="
        raise UsageError(f"{what} of one file, and the card of {name} names {len(files)}; {advice}")
    if url is not None:
        files = [replace(files[0], addresses=(url,))]
    return files


@dataclass
class _Bringing:
    """A data set on its way into the data root; the fields are arguments of :func:`fetch_set`."""

    name: str
    root: Path
    card: FeatureCard
    author: str
    sha256: str
    progress: Progress | None
    keep: bool
    note: Callable[[str], None]
    trust: str = ""

    def bring(self, files: Sequence[Download]) -> Fetched:
        """Download the files and put them into their folder, whole or not at all."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"data root {self.root} cannot be made: {error.strerror or error}") from error
        archives = [one for one in files if _is_archive(one)]
        others = [(one, *self.download(one)) for one in files if one not in archives]
        also: list[str] = []
        for one in archives:
            # The folders that came are of sound files only: what is wrong with an archive shows when it is unpacked.
            also += [folder.name for folder in self.download(one)[1] if folder.name != self.name]
        folder = self.root / self.name
        if others:
            self.place(folder, [(one, path, record) for one, path, _, record in others])
        if not folder.is_dir():
            only = f", only {', '.join(also)}" if also else ", nor another set that is not there already"
            raise DataError(
                f"{masked_url(files[0].addresses[0])}: the archive holds no {self.name}{only}; give another --url"
            )
        there = _there(self.name, folder)
        return replace(there, new=True, also=tuple(also), trust=self.trust)

    def download(self, one: Download) -> tuple[Path, list[Path], Mapping[str, Any]]:
        """Return a file, the folders that were unpacked of it, and its record, from the first address that gives it."""
        first = next((d for url in one.addresses if (d := first_digest(self.root, masked_url(url)))), None)
        expected = self.sha256 or one.sha256 or (first.sha256 if first else "")
        since = first.fetched if first and not (self.sha256 or one.sha256) else ""
        causes = []
        for number, url in enumerate(one.addresses):
            last = number == len(one.addresses) - 1
            try:
                target = self.root / DOWNLOADS / self.target_name(one, url, number)
                path = fetch(
                    url,
                    target,
                    expected,
                    self.progress,
                    since=since,
                    attempts=ATTEMPTS if last else 2,
                    most=one.size,
                )
                record = json.loads(record_path(path).read_text())
                if one.size and record["size"] != one.size:
                    remove_download(path)
                    stated = f"{record['size']} bytes came; the card states {one.size}"
                    raise DataError(f"{masked_url(url)}: {stated}; they were removed; correct the card, or give --url")
                folders = self.unpack(one, url, path, record, bool(expected)) if _is_archive(one) else []
            except DataError as error:
                causes.append(str(error))
                if last and number == 0:
                    raise
                if last:
                    reasons = "".join(f"\n  {cause}" for cause in causes)
                    raise DataError(f"{self.name}: no address gives {one.file_name}:{reasons}") from error
                self.note(f"{error}; now from {masked_url(one.addresses[number + 1])}")
                continue
            if self.sha256:
                self.trust = "the SHA-256 that was given"
            elif one.sha256:
                self.trust = f"the SHA-256 that {self.author} states"
            elif first:
                self.trust = f"the SHA-256 of the first download, {first.fetched}"
            else:
                self.trust = FIRST
            if first is None or first.sha256 != record["sha256"]:
                remember_digest(self.root, FirstDigest.of(record))
            if _is_archive(one) and not self.keep:
                remove_download(path)
            return path, folders, record
        raise AssertionError("a card names an address of each file")

    def target_name(self, one: Download, url: str, number: int) -> str:
        """Return the name of the download of an address; a query may hold secrets, and other endings are of records."""
        target = f"{self.name}-{one.file_name}"
        if _is_archive(one):
            last = urlsplit(url).path.rstrip("/").rpartition("/")[2]
            target = last if last.endswith(".zip") and not unfit(last) else "archive.zip"
        return f"{key_of(url)[:8]}-{target}" if number else target

    def unpack(self, one: Download, url: str, archive: Path, record: Mapping[str, Any], expected: bool) -> list[Path]:
        """Return the folders of data sets that were unpacked; an archive that is damaged or refused is removed."""
        with archive.open("rb") as file:  # of a path that cannot be opened is_zipfile says that it is none
            is_archive = zipfile.is_zipfile(file)
        if not is_archive:
            remove_download(archive)
            raise DataError(
                f"{masked_url(url)}: the {record['size']} bytes that came are no zip archive, perhaps a page of the "
                "server that says why; they were removed; look at the address in a browser, or give another --url"
            )
        named = {self.name: one.folder} if one.folder or not _holds_splits(archive) else {}
        try:
            return unpack_datasets(
                archive, self.root, named=named, card=lambda name: self.card_text(name, {one: record})
            )
        except ArchiveError as error:
            # Its digest is not remembered either; one that is was that of an archive whose other sets were sound.
            remove_download(archive)
            to_do = "give another --url"
            if error.damaged and not expected:
                to_do = "the same command fetches it again; if it is as damaged then, give another --url"
            elif error.damaged:
                to_do = f"it has the expected SHA-256, and will come so again; {to_do}, or the --sha256 of a sound one"
            raise DataError(f"{masked_url(url)}: {error.cause}; nothing of it was kept; {to_do}") from error

    def place(self, folder: Path, files: Sequence[tuple[Download, Path, Mapping[str, Any]]]) -> None:
        """Put single files into the folder of the data set, and the card beside them."""
        records = {one: record for one, _, record in files}
        with draft(self.root, ".fetch-") as temporary:
            new = temporary / self.name
            new.mkdir()
            for one, path, _ in files:
                os.replace(path, new / one.file_name)
                record_path(path).unlink()
            (new / CARD_FILE).write_text(self.card_text(self.name, records), encoding="utf-8")
            if vacant(folder):
                os.rename(new, folder)
            else:
                for file in new.iterdir():
                    os.replace(file, folder / file.name)

    def card_text(self, name: str, records: Mapping[Download, Mapping[str, Any]]) -> str:
        """Return the card to put beside a data set: with the digests of what came, and its address first."""
        card = self.card if name == self.name else _card_of_archive(name, next(iter(records)))
        files = []
        for one in card.files:
            record = next((record for other, record in records.items() if other.file_name == one.file_name), None)
            if record is not None:
                addresses = dict.fromkeys([record["url"], *map(masked_url, one.addresses)])
                one = replace(one, addresses=tuple(addresses), sha256=record["sha256"], size=record["size"])
            files.append(one)
        return replace(card, files=tuple(files)).to_toml()


def _card_of_archive(name: str, one: Download) -> FeatureCard:
    """Return the card of a data set that came in the archive of another."""
    card = find_card(name, Path())[1]
    if card is not None and any(file.file_name == one.file_name for file in card.files):
        return card
    return FeatureCard(files=(replace(one, folder=""),))


def _holds_splits(archive: Path) -> bool:
    """Tell whether the folders of data sets in an archive are known by their ``*_splits.mat``."""
    with zipfile.ZipFile(archive) as file:
        return any(name.endswith("_splits.mat") for name in file.namelist())


def _is_archive(one: Download) -> bool:
    return one.file_name.endswith(".zip")


def _has_features(place: Path, features: str) -> bool:
    files = place.iterdir() if place.is_dir() else ()
    return place.is_file() or any(file.stem == features or file.stem.endswith(f"-{features}") for file in files)


def _check_weights(place: Path, card: FeatureCard, author: str) -> None:
    """Raise :class:`DataError` where features that are there were made by other weights than a card states."""
    path = card_path(place)
    there = load_card(path) if path.is_file() else FeatureCard()
    for part in ("features", "signatures"):
        for name, one in getattr(card, part).items():
            other = getattr(there, part).get(name)
            if other and other.weights_sha256 and one.weights_sha256 and other.weights_sha256 != one.weights_sha256:
                raise DataError(
                    f"{place}: its {part} {name} were made by weights of SHA-256 {other.weights_sha256[:12]}..., and "
                    f"{author} states {one.weights_sha256[:12]}...: they cannot be compared; move the folder away to "
                    "fetch it again"
                )


def _as_asked(fetched: Fetched, sha256: str) -> Fetched:
    """Return what is there; raises :class:`DataError` where it is not known to be of an archive with a checksum."""
    if sha256 and fetched.sha256.lower() != sha256.lower():
        origin = (
            f"from an archive of checksum {fetched.sha256}" if fetched.sha256 else "and does not say of which archive"
        )
        raise DataError(
            f"{fetched.folder} is there already, {origin}; expected {sha256}: leave --sha256 out, or move the folder "
            "away to fetch it again"
        )
    return fetched


def _there(name: str, folder: Path) -> Fetched:
    """Return a data set that is there, with what its card says of its origin."""
    path = card_path(folder)
    one = next(iter(load_card(path).files if path.is_file() else ()), None)
    return Fetched(name, folder, False, one.addresses[0], one.sha256) if one else Fetched(name, folder, False)


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)
