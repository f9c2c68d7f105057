"""Downloads of files by address.

A download goes to ``<file>.part`` and is resumed there, by this call or by a later one, as long as the server's copy is
the same (``ETag`` or ``Last-Modified``, sent back as ``If-Range``). A complete file is renamed into place, and
``<file>.json`` beside it records address, size, SHA-256 and time.

No checksums of the public archives are published; the digest of the first download stands in for one, so that a file
that changes later, on the server or on its way, is noticed. ``.downloads/digests.json`` under the data root holds one
entry per address.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any, Self, cast
from urllib.parse import quote, urlsplit, urlunsplit

from zslplat.data.store.array_store import sha256_of
from zslplat.data.store.atomic_files import folder_lock, replacing
from zslplat.errors import DataError, UsageError, quoted
from zslplat.names import visible
from zslplat.platforms import WINDOWS, lock_file
from zslplat.settings import masked_url
from zslplat_papers.fetching.archives import MAX_BYTES

_SCHEMES = ("http", "https")

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def checked_address(url: str) -> str:
    """Return an address as it is asked for: the scheme in small letters, what is not ASCII as the network takes it.

    Names of hosts get their IDNA form; in paths and queries letters beyond ASCII are percent-encoded, and the rest
    stays as it is. Raises :class:`UsageError` for anything but http and https, where there is no host or no possible
    port, for blanks, and for a user or password.
    """
    wrong, address = examine_address(url)
    if wrong:
        raise UsageError(f"address {quoted(_without_secrets(url))}: {wrong}")
    return address


def examine_address(url: str) -> tuple[str, str]:
    """Return what is wrong with an address, and how it is asked for; one of them is empty."""
    if re.search(r"\s", url):
        return "it holds a blank; write %20", ""
    if visible(url) != url:
        return "it holds characters that cannot be seen or written; write them as %XX", ""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"{_without_secrets(str(error), url)}; expected one such as https://example.org/xlsa17.zip", ""
    if parts.scheme not in _SCHEMES or not url.lower().startswith(f"{parts.scheme}://"):
        return "expected one that begins with http:// or https://", ""
    if "@" in parts.netloc:
        return (
            "no user or password is sent anywhere; give an address without, or put the unpacked folders under the data "
            "root yourself"
        ), ""
    if not parts.hostname:
        return "it names no host; expected one such as https://example.org/xlsa17.zip", ""
    if port == 0:
        return "its port is 0; expected one from 1 to 65535", ""
    try:
        host = parts.hostname.encode("idna").decode("ascii")
    except UnicodeError:
        return f"{quoted(parts.hostname, 80)} is no name of a host", ""
    netloc = parts.netloc if parts.netloc.isascii() else host + (f":{port}" if port else "")
    path, query, fragment = (_BEYOND_ASCII.sub(lambda found: quote(found[0]), text) for text in parts[2:])
    return "", urlunsplit((parts.scheme, netloc, path, query, fragment))


def _without_secrets(text: str, *addresses: str) -> str:
    """Return a text without passwords; of what has an @ and no // nothing before that, which may be one, is left."""
    text = masked_url(text, *(addresses or (text,)))
    head, at, tail = text.rpartition("@")
    return f"***@{tail}" if at and "://" not in head else text


DOWNLOADS = ".downloads"

_FILE = "digests.json"


@dataclass(frozen=True)
class FirstDigest:
    """Address, size in bytes, SHA-256 and time of a first download."""

    url: str
    size: int
    sha256: str
    fetched: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return that of a download, by the record that lies beside it."""
        return cls(*(record[name] for name in ("url", "size", "sha256", "fetched")))


def first_digest(root: Path, url: str) -> FirstDigest | None:
    """Return what an address delivered first, None where nothing came from it yet.

    Raises :class:`DataError` where the file of digests cannot be read.
    """
    return _read_digests(root).get(url)


def remember_digest(root: Path, digest: FirstDigest) -> None:
    """Remember what an address delivered, in place of what it delivered before."""
    path = root / DOWNLOADS / _FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with folder_lock(path.parent):
        digests = _read_digests(root) | {digest.url: digest}
        with replacing(path) as new:
            new.write_text(json.dumps([asdict(one) for one in digests.values()], indent=1) + "\n")


def _read_digests(root: Path) -> dict[str, FirstDigest]:
    path = root / DOWNLOADS / _FILE
    try:
        return {entry["url"]: FirstDigest.of(entry) for entry in json.loads(path.read_text())}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}: the digests of earlier downloads cannot be read ({error}); restore the file, or remove it to "
            "trust the next download"
        ) from error


Progress = Callable[[int, int | None], None]

_CHUNK = 1 << 20

ATTEMPTS = 5  # in a row without a new byte

_DIGEST = re.compile(r"[0-9a-fA-F]{64}")


def check_digest(sha256: str) -> None:
    """Raise :class:`UsageError` for what is no SHA-256, before anything is downloaded that could not have it."""
    if sha256 and not _DIGEST.fullmatch(sha256):
        raise UsageError(
            f"--sha256 {quoted(sha256, 80)}: {len(sha256)} characters; expected the 64 hex digits that sha256sum prints"
        )


def fetch(
    url: str,
    target: Path,
    sha256: str = "",
    progress: Progress | None = None,
    *,
    timeout: float = 30.0,
    pause: float = 1.0,
    since: str = "",
    attempts: int = ATTEMPTS,
    most: int = 0,
    remedy: str = "give another --url",
) -> Path:
    """Download ``url`` to ``target``, resuming what an earlier call left; a complete file is not fetched again.

    ``sha256`` (64 hex digits) is checked when given; ``since`` says when an earlier download had it. ``timeout``
    in seconds bounds the silence of the server, ``pause`` the wait before each new attempt (it doubles); after so many
    ``attempts`` without a new byte it gives up. More than ``most`` bytes are refused, by default what no archive has.
    ``remedy`` says how another address is given.
    Raises :class:`UsageError` for a malformed address, and :class:`DataError` when the server cannot be reached,
    refuses, keeps breaking off, or delivers another file than expected, where the disk has no room, where more comes
    without a declared length than an archive may hold or than half of the free room, and when another process is
    downloading the same file.
    """
    url = checked_address(url)
    try:
        if _is_complete(target, sha256, url):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(target.with_name(target.name + ".part"), url) as part:
            state = _Transfer(
                url, part, _read_validator(part, url), progress, timeout, attempts, most or MAX_BYTES, remedy
            )
            state.run(pause)
            return _finish(state, target, sha256, since)
    except OSError as error:
        partial = target.with_name(target.name + ".part")
        resume_hint = f"; the same command goes on from byte {partial.stat().st_size}" if partial.is_file() else ""
        raise DataError(f"cannot save {masked_url(url)} as {target}: {error.strerror or error}{resume_hint}") from error


@dataclass
class _Transfer:
    """One file on its way: what is on disk, and what the server says about the whole."""

    url: str
    file: IO[bytes]
    validator: str
    progress: Progress | None
    timeout: float
    attempts: int
    most: int
    remedy: str
    total: int | None = None
    at: str = ""  # where the last request went, in the end

    def address(self) -> str:
        """Return the address for messages, with the one that it led to."""
        led = self.at and self.at != self.url
        return masked_url(self.url) + (f", which leads to {masked_url(self.at)}" if led else "")

    def run(self, pause: float) -> None:
        """Ask until all bytes are here; a broken connection is resumed, several without a new byte are an error."""
        fruitless, wait, cause = 0, pause, "the connection broke off"
        while True:
            before = self.size()
            try:
                if self.attempt():
                    return
            except urllib.error.HTTPError as error:
                if error.code < 500 and error.code not in (408, 429):
                    raise DataError(
                        f"cannot download {self.address()}: the server answers {error.code} {error.reason}; "
                        f"look whether the address is still right, or {self.remedy}"
                    ) from error
                cause = f"the server answers {error.code} {error.reason}"
            except urllib.error.URLError as error:
                cause = str(getattr(error.reason, "strerror", "") or error.reason)
                if isinstance(error.reason, socket.gaierror):
                    raise DataError(f"cannot download {self.address()}: {cause}; is this machine online?") from error
            except (HTTPException, ConnectionError, TimeoutError) as error:
                cause = str(error) or type(error).__name__
            fruitless = 0 if self.size() > before else fruitless + 1
            if fruitless >= self.attempts:
                rest = (
                    f"the same command goes on from byte {self.size()}"
                    if self.size()
                    else f"try later, or {self.remedy}"
                )
                raise DataError(f"cannot download {self.address()}: {cause}, {self.attempts} times in a row; {rest}")
            if fruitless:
                time.sleep(wait)
                wait *= 2

    def size(self) -> int:
        return self.file.seek(0, os.SEEK_END)

    def attempt(self) -> bool:
        """Make one request, from where the file ends; tell whether the file is complete after it."""
        start = self.size()
        # Without something to recognise the server's copy by, a rest could belong to another file.
        if start and not self.validator:
            start = self._restart()
        request = urllib.request.Request(self.url, headers={"User-Agent": "zslplat", "Accept-Encoding": "identity"})
        if start:
            request.add_header("Range", f"bytes={start}-")
            request.add_header("If-Range", self.validator)
        try:
            response = self._open(request)
        except urllib.error.HTTPError as error:
            if error.code != 416:
                raise
            whole = error.headers.get("Content-Range", "").rpartition("/")[2]
            if whole == str(start):
                return True
            self._restart()
            return False
        with response:
            return self._receive(response, start)

    def _open(self, request: urllib.request.Request) -> HTTPResponse:
        self.at = self.url
        try:
            return cast(HTTPResponse, urllib.request.build_opener(_Redirects(self)).open(request, timeout=self.timeout))
        except ValueError as error:  # this address has been examined
            raise DataError(
                f"cannot download {self.address()}: the server leads to an address that is none: "
                f"{masked_url(str(error))}"
            ) from error

    def _receive(self, response: HTTPResponse, start: int) -> bool:
        expected = response.length  # None where the server declares none, or no number
        if start and not (
            response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        ):
            start = self._restart()  # the server sends the file from its beginning
        self.total = None if expected is None else start + expected
        self._remember(response)
        if self.total is not None and self.total > self.most:
            raise DataError(
                f"cannot download {self.address()}: it has {self.total / 1e6:.0f} MB; expected at "
                f"most {self.most / 1e6:.0f} MB; look whether the address is right"
            )
        free = shutil.disk_usage(Path(self.file.name).parent).free
        if expected is not None and expected > free:
            raise DataError(
                f"cannot download {self.address()}: {expected / 1e9:.2f} GB are to come, and {free / 1e9:.2f} GB "
                f"are free in {Path(self.file.name).parent}; free space and give the same command again"
            )
        # What is unpacked of it needs room, too.
        most = min(self.most, start + free // 2) if self.total is None else self.total
        while chunk := _read(response):
            if self.file.tell() + len(chunk) > most:
                self._restart()
                raise DataError(
                    f"cannot download {self.address()}: the server does not say how long the file is, and more "
                    f"than {most / 1e9:.2f} GB came; nothing of it was kept; look at the address in a browser, or "
                    f"{self.remedy}"
                )
            self.file.write(chunk)
            if self.progress:
                self.progress(self.file.tell(), self.total)
        self.file.flush()
        # A connection that breaks off ends the body early without an error.
        return self.total is None or self.size() == self.total

    def _restart(self) -> int:
        self.file.seek(0)
        self.file.truncate()
        return 0

    def _remember(self, response: HTTPResponse) -> None:
        """Keep what identifies the server's copy; a weak tag does not promise equal bytes."""
        tag = response.headers.get("ETag", "")
        self.validator = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")
        _validator_path(Path(self.file.name)).write_text(
            json.dumps({"url": masked_url(self.url), "validator": self.validator})
        )


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows where a server leads, and says where that is."""

    def __init__(self, transfer: _Transfer) -> None:
        self.transfer = transfer

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        self.transfer.at = newurl
        wrong, _ = examine_address(newurl)
        if wrong:
            raise DataError(f"cannot download {self.transfer.address()}: {wrong}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read(response: HTTPResponse) -> bytes:
    try:
        return response.read(_CHUNK)
    except OSError as error:  # told apart from errors of the disk
        raise ConnectionError(error.strerror or str(error)) from error


def _finish(state: _Transfer, target: Path, sha256: str, since: str) -> Path:
    state.file.flush()
    os.fsync(state.file.fileno())
    if WINDOWS:  # no open file is renamed or removed there
        state.file.close()
    part = Path(state.file.name)
    digest = sha256_of(part)
    if sha256 and digest != sha256.lower():
        part.unlink()
        _validator_path(part).unlink(missing_ok=True)
        if since:
            raise DataError(
                f"{masked_url(state.url)} has changed: SHA-256 is {digest}, and was {sha256} when it was first "
                f"fetched, {since}; nothing of it was kept; to take the new file give --sha256 {digest}"
            )
        raise DataError(
            f"{masked_url(state.url)}: SHA-256 is {digest}, expected {sha256}; the file is not the one that was asked "
            "for"
        )
    record = {
        "url": masked_url(state.url),
        "size": part.stat().st_size,
        "sha256": digest,
        "validator": state.validator,
        "fetched": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    scratch = record_path(target).with_suffix(".json.new")
    scratch.write_text(json.dumps(record, indent=2) + "\n")
    os.replace(scratch, record_path(target))
    os.replace(part, target)
    _validator_path(part).unlink(missing_ok=True)
    return target


def _is_complete(target: Path, sha256: str, url: str) -> bool:
    """Tell whether the file is there and is what its record says, and what is asked for or came from this address."""
    try:
        record = json.loads(record_path(target).read_text())
        if target.stat().st_size != record["size"]:
            return False
        digest, record_url = sha256_of(target), record["url"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False
    return bool(digest == record["sha256"] and (digest == sha256.lower() if sha256 else record_url == masked_url(url)))


def record_path(target: Path) -> Path:
    """Return where the record of a download is kept."""
    return target.with_name(target.name + ".json")


def remove_download(file: Path) -> None:
    """Remove a complete file and its record."""
    file.unlink()
    record_path(file).unlink(missing_ok=True)


def _validator_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_validator(part: IO[bytes], url: str) -> str:
    try:
        stored = json.loads(_validator_path(Path(part.name)).read_text())
        return str(stored["validator"]) if stored["url"] == masked_url(url) else ""
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""


@contextmanager
def _exclusive(path: Path, url: str) -> Iterator[IO[bytes]]:
    """Open a file for appending, for one process at a time; the lock ends with the process, however it ends."""
    with path.open("a+b") as file:
        try:
            lock_file(file.fileno())
        except BlockingIOError:
            raise DataError(
                f"{masked_url(url)} is being downloaded to {path} by another process; wait for it"
            ) from None
        yield file
