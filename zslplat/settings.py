"""Where things are, which checks are silenced, what tags records get: from options, environment or config files.

The first of these wins, of tags by their name: command-line option, environment variable ``ZSLPLAT_<NAME>``,
``zslplat.toml`` in the working directory, ``config.toml`` in the user's configuration folder, built-in default.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from zslplat.config import toml_content
from zslplat.errors import StoreError, UsageError, quoted

_LOCAL_CONFIG = Path("zslplat.toml")
_NUMBERS = ("cache_gigabytes", "model_gigabytes", "outage_seconds")
_KEYS = ("data_root", "store", "tracking_uri", "storage_url", *_NUMBERS, "silence", "tags")
_LISTS = ("silence", "tags")
_CODE = re.compile(r"[A-Z]+[0-9]+")
# What MLflow takes for the name of a tag; some are zslplat's and MLflow's own, and so are all of these beginnings.
_TAG = re.compile(r"[\w./ -]{1,250}")
_OWN_TAGS, _OWN_BEGINNINGS = ("stage", "chosen"), ("zslplat.", "mlflow.")
_LONGEST_TAG = 5000

_MASK = "***"
# What stands between the scheme and the last @ before the path: user:password, or a token alone. The second form of a
# password is for one that holds a slash that should have been encoded; what looks like a port and a path is none.
_USER = re.compile(
    r"(?P<scheme>[A-Za-z][\w+.-]*)://(?P<user>[^\s/:@?#'\"]*)"
    r"(?P<password>:[^\s/?#'\"]*|:(?!\d+[/?#])[^\s'\"]*?)?@"
)
_ALONE = re.compile(r"^[\w.+-]+://[^:/@]*:(?P<password>[^@]+)@", re.MULTILINE)
# Stores of objects sign the addresses that a redirect leads to.
_SECRET_KEYS = (
    r"(?:[\w.-]*(?:password|passwd|passphrase|token|secret|credential)[\w.-]*"
    r"|pass|pwd|api[_-]?key|sig|[\w.-]*signature)"
)
_QUERY = re.compile(rf"(?P<key>[?&;]{_SECRET_KEYS}=)[^\s&;#'\"()<>]+", re.IGNORECASE)
# Shorter ones are words of any message; the address that they belong to is masked all the same.
_SHORTEST_SECRET = 4


def masked_url(text: str, *addresses: str) -> str:
    """Return a URL, or a text that holds URLs, without passwords and tokens.

    ``user:password@`` becomes ``user:***@``, a user alone is taken for a token where the scheme is http; the values of
    ``?password=...``, ``token=...``, ``signature=...`` and their like are masked. ``addresses``: URLs whose secrets are
    masked wherever they stand in the text, since the libraries' messages quote them in other forms, too.
    """
    for secret in sorted({s for address in addresses for s in _secrets(address)}, key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return _QUERY.sub(rf"\g<key>{_MASK}", _USER.sub(_without_password, text))


def sqlite_url(path: Path) -> str:
    """Return the URL by which SQLAlchemy opens a file of sqlite, whatever it is called."""
    if "%" not in str(path):
        return f"sqlite:///{path}"
    import sqlalchemy as sa

    # Its versions from 2.1 on decode what stands there, earlier ones do not. MLflow makes the folder of an address that
    # begins with sqlite:/// without decoding it; with the driver named it makes none.
    return sa.engine.URL.create("sqlite+pysqlite", database=str(path)).render_as_string()


def _without_password(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["user"]
    if match["password"] is None:
        return f"{scheme}://{_MASK if scheme.lower().startswith('http') else user}@"
    return f"{scheme}://{user}:{_MASK}@"


def _secrets(address: str) -> set[str]:
    """Return the passwords and tokens of a URL, as written and decoded."""
    secrets = [match[0].partition("=")[2] for match in _QUERY.finditer(address)]
    # As SQLAlchemy reads it: signs that end an address in a text may stand in an address alone.
    secrets += [match["password"] for match in _ALONE.finditer(address)]
    for match in _USER.finditer(address):
        if match["password"] is not None:
            secrets.append(match["password"][1:])
        elif match["scheme"].lower().startswith("http"):
            secrets.append(match["user"])
    return {form for secret in secrets for form in (secret, unquote(secret)) if len(form) >= _SHORTEST_SECRET}


@dataclass(frozen=True)
class Settings:
    """Resolved places.

    ``data_root`` folder of data sets or None; ``store`` folder for everything that is recorded (default
    ``./mlruns``); ``tracking_uri`` MLflow (default: sqlite file in the store); ``storage_url`` Optuna and records
    (SQLAlchemy URL; default: sqlite file in the store); ``cache_gigabytes`` bound of the cache (default 20);
    ``model_gigabytes`` how large the saved model of a final evaluation may be (default 1; 0 keeps none);
    ``outage_seconds`` how long a command waits for a server that has answered and went away (default 120);
    ``silenced`` the codes of checks whose findings are counted and not shown (``silence``, none by default); ``tags``
    what is kept, by name, with everything that is recorded, for its readers to find it by (none by default).
    """

    data_root: Path | None
    store: Path
    tracking_uri: str
    storage_url: str
    cache_gigabytes: float
    silenced: tuple[str, ...] = ()
    outage_seconds: float = 120.0
    model_gigabytes: float = 1.0
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def cache(self) -> Path:
        """Folder of prepared problems, statistics and loaded data."""
        return self.store / "cache"

    @property
    def arrays(self) -> Path:
        """Folder of data sets that come from Python as arrays; records name them by their content."""
        return self.store / "data"

    @property
    def studies(self) -> Path:
        """Folder of locks, logs and artifacts on their way to MLflow, one folder per study."""
        return self.store / "studies"

    @property
    def suites(self) -> Path:
        """Folder of the tables of suites, and of the locks on their cells."""
        return self.store / "suites"

    @property
    def artifacts(self) -> Path:
        """Folder of MLflow's artifacts when tracking is local."""
        return self.store / "artifacts"

    @property
    def shown_tracking_uri(self) -> str:
        """The address of MLflow as it may be printed, logged and recorded: without password."""
        return masked_url(self.tracking_uri, self.tracking_uri)

    @property
    def storage_is_local(self) -> bool:
        """Whether studies and records are in the sqlite file in the store folder."""
        return self.storage_url == sqlite_url(self.store / "optuna.db")

    def masked(self, text: str) -> str:
        """Return a text, such as a library's message, without the passwords of this store's addresses."""
        return masked_url(text, self.tracking_uri, self.storage_url)

    @property
    def tracking_is_local(self) -> bool:
        """Whether MLflow's store is the sqlite file in the store folder."""
        return self.tracking_uri == sqlite_url(self.store / "mlflow.db")

    def make_store(self) -> None:
        """Create the store's folders.

        Raises :class:`StoreError` where they cannot be written, and :class:`UsageError` where the store is a file.
        """
        try:
            for folder in (self.store, self.studies, self.cache, self.artifacts):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self.store / f".write-test-{os.getpid()}"
            probe.write_bytes(b"zslplat" * 1024)
            probe.unlink()
        except OSError as error:
            if self.store.is_file():
                raise UsageError(f"the store {self.store} is a file; give a folder with --store") from error
            why = f"{error.strerror or error}; free space, change permissions, or choose another --store"
            raise StoreError(f"the store {self.store} cannot be written: {why}") from error


def resolve_settings(options: Mapping[str, Any] | None = None) -> Settings:
    """Combine options, environment and config files; raises :class:`UsageError` for a file that cannot be read."""
    chosen = {key: value for key, value in (options or {}).items() if value is not None}
    files, _ = _read_configs()

    def pick(key: str) -> Any:
        if key in chosen:
            return chosen[key]
        return os.environ.get(f"ZSLPLAT_{key.upper()}") or files.get(key)

    store = Path(pick("store") or "mlruns").expanduser().absolute()
    if "?" in str(store):
        raise UsageError(
            f"the store {store} may not contain '?', which addresses of databases cannot hold; choose another --store"
        )
    root = pick("data_root")
    tracking_uri = str(pick("tracking_uri") or sqlite_url(store / "mlflow.db"))
    storage_url = str(pick("storage_url") or sqlite_url(store / "optuna.db"))
    if _database_of(tracking_uri) == _database_of(storage_url):
        raise UsageError(
            f"--tracking-uri and --storage-url are one database, {masked_url(storage_url, storage_url)}; MLflow and "
            "the records have tables of the same names: give MLflow a database of its own"
        )
    return Settings(
        data_root=Path(root).expanduser().absolute() if root else None,
        store=store,
        tracking_uri=tracking_uri,
        storage_url=storage_url,
        cache_gigabytes=_amount("cache_gigabytes", pick("cache_gigabytes"), 20.0, "GiB"),
        silenced=_codes(pick("silence")),
        outage_seconds=_amount("outage_seconds", pick("outage_seconds"), 120.0, "seconds"),
        model_gigabytes=_amount("model_gigabytes", pick("model_gigabytes"), 1.0, "GiB"),
        tags={**_tags(files.get("tags")), **_tags(os.environ.get("ZSLPLAT_TAGS")), **_tags(chosen.get("tags"))},
    )


def settings_in_force(options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return every setting: its name, its value as a text, and the option, variable or file that it comes from."""
    settings = resolve_settings(options)
    _, files = _read_configs()
    values = {**vars(settings), "silence": ", ".join(settings.silenced)}
    values["tags"] = ", ".join(f"{name}={value}" for name, value in settings.tags.items())
    rows = []
    for key in _KEYS:
        variable = f"ZSLPLAT_{key.upper()}"
        if options.get(key):
            origin = f"--{key.replace('_', '-')}"
        elif os.environ.get(variable):
            origin = variable
        else:
            origin = str(files.get(key, "default"))
        value = "" if values[key] is None else str(values[key])
        rows.append((key, masked_url(value, settings.tracking_uri, settings.storage_url), origin))
    return rows


def remember_data_root(root: Path) -> Path | None:
    """Write a data root into ``zslplat.toml`` of the working directory, and return the file.

    None where a data root is set already, by file or environment, where the folder is not there, or the file cannot be
    written.
    """
    import tomli_w

    if resolve_settings().data_root is not None or not root.expanduser().is_dir():
        return None
    path = _LOCAL_CONFIG
    try:
        content = path.read_text(encoding="utf-8") if path.exists() else ""
        # Above all else, as tables come last.
        path.write_text(f"{tomli_w.dumps({'data_root': str(root)})}{content}", encoding="utf-8")
    except OSError:
        return None
    return path


def _database_of(address: str) -> tuple[str, str]:
    """Return what tells one database from others by its address: without driver and user."""
    scheme, _, rest = address.partition("://")
    return scheme.partition("+")[0].replace("postgresql", "postgres"), rest.rpartition("@")[2]


def _amount(name: str, value: Any, usual: float, unit: str) -> float:
    """Return a number, the usual one for None; raises :class:`UsageError` for a negative or none."""
    try:
        amount = usual if value is None else float(value)
    except ValueError:
        amount = -1.0
    if not amount >= 0:
        raise UsageError(f"{name}={value!r}: expected a number of {unit}, 0 or more")
    return amount


def _codes(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return codes of checks from a list or a text with commas; raises :class:`UsageError` for other text."""
    texts = [value] if isinstance(value, str) else list(value or ())
    codes = [code.strip() for text in texts for code in text.split(",") if code.strip()]
    for code in codes:
        if not _CODE.fullmatch(code):
            raise UsageError(f"silence: {code!r} is no code of a check; expected one such as ZSP101")
    return tuple(dict.fromkeys(codes))


def _tags(source: str | Sequence[str] | Mapping[str, Any] | None) -> dict[str, str]:
    """Return tags by name from a mapping, from texts ``KEY=VALUE``, or from one text of these with commas between.

    Raises :class:`UsageError` for another text, and for a name that is none or is not the user's to give.
    """
    if isinstance(source, Mapping):
        pairs = [(str(name), "" if value is None else value) for name, value in source.items()]
    else:
        texts = [text for text in source.split(",") if text.strip()] if isinstance(source, str) else list(source or ())
        wrong = next((text for text in texts if "=" not in text), None)
        if wrong is not None:
            raise UsageError(f"tag {quoted(wrong)}: expected KEY=VALUE, such as purpose=pilot")
        pairs = [(name, value) for name, _, value in (text.partition("=") for text in texts)]
    tags: dict[str, str] = {}
    for name, value in ((name.strip(), str(value).strip()) for name, value in pairs):
        if not _TAG.fullmatch(name) or posixpath.normpath(name) != name or name.startswith((".", "/")):
            raise UsageError(f"tag {quoted(name)}: use letters, digits, blanks and . _ - / for its name")
        if name in _OWN_TAGS or name.startswith(_OWN_BEGINNINGS):
            reserved = ", ".join([*_OWN_TAGS, *(f"{beginning}..." for beginning in _OWN_BEGINNINGS)])
            raise UsageError(f"tag {quoted(name)} has a meaning already, as have {reserved}; give it another name")
        if not value or len(value) > _LONGEST_TAG or not value.isprintable():
            raise UsageError(f"tag {quoted(name)}: expected one line of text, of at most {_LONGEST_TAG} characters")
        if tags.setdefault(name, value) != value:
            raise UsageError(f"tag {quoted(name)} is given twice, as {quoted(tags[name])} and as {quoted(value)}")
    return tags


def _read_configs() -> tuple[dict[str, Any], dict[str, Path]]:
    """Return the settings of the files by name, and the file that each is of."""
    values: dict[str, Any] = {}
    origins: dict[str, Path] = {}
    for path in (_user_config(), _LOCAL_CONFIG):
        if not path.is_file():
            continue
        try:
            content = toml_content(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"config file {path} cannot be read: {error}") from error
        unknown = set(content) - set(_KEYS)
        if unknown:
            raise UsageError(f"config file {path}: unknown key {sorted(unknown)[0]!r}; known: {', '.join(_KEYS)}")
        for key, value in content.items():
            if key in _LISTS and isinstance(value, list) and all(isinstance(text, str) for text in value):
                continue
            kind = int | float if key in _NUMBERS else str
            if not isinstance(value, kind) or isinstance(value, bool):
                what = "a number" if key in _NUMBERS else "text in quotes"
                what += ", or a list of them" if key in _LISTS else ""
                raise UsageError(f"config file {path}: {key}={value!r}; expected {what}")
        values.update(content)
        origins.update(dict.fromkeys(content, path))
    return values, origins


def _user_config() -> Path:
    import platformdirs

    return Path(platformdirs.user_config_dir("zslplat")) / "config.toml"
