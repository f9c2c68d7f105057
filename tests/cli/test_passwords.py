"""No password of an address is ever shown: not in output, warnings, errors, tracebacks, logs or files of the store."""

from __future__ import annotations

import pytest

from zslplat.settings import masked_url, resolve_settings
from zslplat.tracking.projection import Projection

PASSWORD, ENCODED = "hidden word", "hidden%20word"
AWAY = f"http://me:{ENCODED}@127.0.0.1:9/"
DATABASES = [
    f"postgresql+psycopg://me:{ENCODED}@127.0.0.1:9/studies",
    f"nonsense://me:{ENCODED}@127.0.0.1:9/studies",
    f"me:{ENCODED}@nowhere",
    f"sqlite:////nowhere/at/all.db?password={ENCODED}",
]
TUNE = ("tune", "--method", "plain", "--dataset", "marked", "--workers", 1, "--repeats", 1, "--trials", 2)
RUN = ("run", "--test", "--method", "plain", "--dataset", "marked", "--workers", 1)
SWEEP = ("sweep", "--method", "plain", "--dataset", "marked", "--workers", 1, "--param", "mix", "--points", 2)


def shown_by(done, store):
    """Return everything that a person may get to see: what was printed, and the files of the store."""
    files = [path.read_bytes().decode(errors="replace") for path in store.rglob("*") if path.is_file()]
    return "\n".join([done.stdout, done.stderr, *files, *map(str, store.rglob("*"))])


def assert_hidden(done, store):
    shown = shown_by(done, store)
    for word in (PASSWORD, ENCODED):
        assert word not in shown


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ((*TUNE,), 0),
        ((*TUNE, "--json"), 0),
        ((*TUNE, "--quiet", "--debug"), 0),
        ((*RUN,), 0),
        ((*RUN, "--json"), 0),
        ((*SWEEP,), 0),
        (("rerun", "0123456789abcdef"), 2),
        (("rerun", "0123456789abcdef", "--debug"), 2),
        (("compare", "--dataset", "marked"), 1),
        (("compare", "--dataset", "marked", "--debug"), 1),
        (("ui",), 0),
    ],
)
def test_no_command_shows_the_password_of_the_tracking_server(call, new_store, command, code):
    store = new_store()
    place = () if command[0] == "ui" else ("--tracking-uri", AWAY)
    if not place:
        (store.parent / "zslplat.toml").write_text(f'tracking_uri = "{AWAY}"\n')
    done = call(*command, *place)
    assert done.returncode == code, done.stderr
    # Those that only read ask the records, and have no need of the server.
    if command[0] not in ("rerun", "compare"):
        assert "http://me:***@127.0.0.1:9/" in done.stdout + done.stderr
    assert_hidden(done, store)


@pytest.mark.parametrize("url", DATABASES)
@pytest.mark.parametrize("more", [(), ("--debug",), ("--json",)])
def test_no_command_shows_the_password_of_the_database(call, new_store, url, more):
    for command in (TUNE, RUN):
        done = call(*command, "--storage-url", url, *more)
        assert done.returncode in (1, 2), done.stderr
        assert done.stderr.strip()
        assert_hidden(done, new_store())


def test_what_mlflow_says_of_a_failure_is_masked(new_store, monkeypatch):
    settings = resolve_settings({"store": new_store(), "tracking_uri": AWAY})
    said = []

    def fail(self, name):
        raise OSError(f"the server at {AWAY}api, user me, password {PASSWORD!r} or token {ENCODED}, is away")

    monkeypatch.setattr(Projection, "_connect", fail)
    Projection(settings, "zsl: marked", "study:x", "store", said.append)
    (text,) = said
    assert PASSWORD not in text
    assert ENCODED not in text
    assert "http://me:***@127.0.0.1:9/api" in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:secret@127.0.0.1:9/", "http://user:***@127.0.0.1:9/"),
        ("https://ghp_abcdef@host/mlflow", "https://***@host/mlflow"),
        ("http://user:p@ss:w@host/", "http://user:***@host/"),
        ("http://user:pa/ss@host/x", "http://user:***@host/x"),
        ("http://host/?token=abc&page=2", "http://host/?token=***&page=2"),
        ("https://host/x?a=1&access_token=abc#here", "https://host/x?a=1&access_token=***#here"),
        ("postgresql+psycopg://me:secret@h:5432/db", "postgresql+psycopg://me:***@h:5432/db"),
        ("postgresql://h/db?user=me&PASSWORD=secret", "postgresql://h/db?user=me&PASSWORD=***"),
        # Nothing to hide.
        ("postgresql://me@h/db", "postgresql://me@h/db"),
        ("sqlite:////data/a@b/mlflow.db", "sqlite:////data/a@b/mlflow.db"),
        ("http://127.0.0.1:5000/a@b?name=eszsl@npz", "http://127.0.0.1:5000/a@b?name=eszsl@npz"),
        ("eszsl@digit-pairs-zsl-deb084d3", "eszsl@digit-pairs-zsl-deb084d3"),
        # Inside a sentence, more than once.
        ("at http://a:b@h/x, not 'http://c:d@h'", "at http://a:***@h/x, not 'http://c:***@h'"),
    ],
)
def test_addresses_are_masked(url, shown):
    assert masked_url(url) == shown
    assert masked_url(shown) == shown


def test_secrets_of_known_addresses_are_masked_in_any_form():
    text = "login failed for hidden word / hidden%20word / abc"
    assert masked_url(text, AWAY, "http://h/?token=abc") == "login failed for *** / *** / abc"
