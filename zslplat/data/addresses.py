"""Addresses of downloads: judged before anything is asked of them, and written as they are asked for."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit, urlunsplit

from zslplat.errors import UsageError, quoted
from zslplat.names import visible
from zslplat.settings import masked_url as without_passwords

_SCHEMES = ("http", "https")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
# What stores of objects sign their addresses with, where a redirect leads there.
_SIGNED = re.compile(r"(?P<key>[?&;][\w.-]*signature=)[^\s&;#'\"()<>]+", re.IGNORECASE)


def masked_url(text: str, *addresses: str) -> str:
    """Return an address, or a text that holds some, without passwords, tokens and signatures; see the settings'."""
    return _SIGNED.sub(r"\g<key>***", without_passwords(text, *addresses))


def checked_address(url: str) -> str:
    """Return an address as it is asked for: the scheme in small letters, what is not ASCII as the network takes it.

    Names of hosts get their IDNA form; in paths and queries letters beyond ASCII are percent-encoded, and the rest
    stays as it is. Raises :class:`UsageError` for anything but http and https, where there is no host or no possible
    port, for blanks, and for a user or password.
    """
    wrong, address = judged(url)
    if wrong:
        raise UsageError(f"address {quoted(_without_secrets(url))}: {wrong}")
    return address


def judged(url: str) -> tuple[str, str]:
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
