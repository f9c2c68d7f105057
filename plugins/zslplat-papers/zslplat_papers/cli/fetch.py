"""``fetch`` and ``card``: public data sets brought under the data root, and where data sets come from."""

from pathlib import Path
from typing import Annotated, Any

from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import DataRootOptions, Json, Quiet
from zslplat.front.schema import REQUIRED, Option


class FetchOptions(DataRootOptions, total=False):
    """The options of ``fetch``."""

    name: Annotated[
        str,
        Option(
            'Data set with a feature card, such as AWA2 or "AWA2(features=res101)", the path or address of a card, or '
            "hub:owner/name.",
            REQUIRED,
            complete=("AWA1", "AWA2", "CUB", "SUN", "APY"),
            positional=True,
        ),
    ]
    url: Annotated[str | None, Option("Where the file is, instead of the addresses on the card.")]
    sha256: Annotated[str, Option("Checksum that the file must have, in place of the card's or the first one's.", "")]
    keep_archive: Annotated[bool, Option("Keep the archive after unpacking.", False)]
    json: Json
    quiet: Quiet


def fetch(options: FetchOptions) -> None:
    """Download the files of a data set, by its feature card, where they are missing.

    The addresses on the card are tried in their order. A download that broke off goes on where it stopped. The digest
    must be that on the card. Where it states none, that of the first download is kept, and a later one must have it.
    """
    from zslplat.registry import names
    from zslplat_papers.fetching.fetch import fetch_set

    with _download_progress(options["quiet"] or options["json"]) as progress:
        files = fetch_set(
            options["name"],
            _root(options),
            names("datasets"),
            url=options["url"],
            sha256=options["sha256"],
            progress=progress,
            keep_archive=options["keep_archive"],
            note=lambda text: echo(f"note: {text}", err=True),
        )
    if options["json"]:
        print_json(vars(files))
        return
    origin = f", from {files.url}, SHA-256 {files.sha256}" if files.sha256 else ""
    echo(f"{files.name}: {'fetched' if files.new else 'there already'}, {files.folder}{origin}")
    if files.trust:
        echo(f"trusted: {files.trust}")
    if files.also:
        echo(f"came with it: {', '.join(files.also)}")


class CardOptions(DataRootOptions, total=False):
    """The options of ``card``."""

    name: Annotated[
        str, Option("Data set, or the path or address of a card.", REQUIRED, complete="datasets", positional=True)
    ]
    to: Annotated[Path | None, Option("File to write: card.toml, or croissant.json for Croissant JSON-LD.")]


def card(options: CardOptions) -> None:
    """Show the feature card of a data set, or write it, as TOML or as Croissant.

    The card beside the data comes first, then that of a plugin.
    """
    from zslplat.errors import DataError, UsageError
    from zslplat_papers.fetching.cards import card_beside
    from zslplat_papers.fetching.croissant import croissant_text

    name, content = card_beside(options["name"], _root(options, needed=False))
    target = options["to"]
    if target is None:
        echo(content.to_toml(), nl=False)
        return
    if target.suffix not in (".toml", ".json"):
        raise UsageError(f"--to {target}: expected a file that ends in .toml, or in .json for Croissant")
    text = content.to_toml() if target.suffix == ".toml" else croissant_text(name, content)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}") from error
    echo(f"the card of {name} is in {target}")


def _root(options: Any, *, needed: bool = True) -> Path:
    from zslplat.data.source import HOW_TO_SET
    from zslplat.errors import UsageError
    from zslplat.front.requests import settings_of

    root = settings_of(options).data_root
    if root is None and needed:
        raise UsageError(f"no data root is set; name the folder that is to hold your data sets with {HOW_TO_SET}")
    return root or Path()


class _download_progress:
    """A progress bar on standard error, from the first bytes on; or nothing."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Any:
        if self.quiet:
            return None
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        from zslplat.front.terminal import Console

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self.bar = Progress(*columns, console=Console(stderr=True))
        return self._received

    def _received(self, done: int, total: int | None) -> None:
        if self.task is None:
            self.task = self.bar.add_task("downloading", total=total)
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self.task is not None:
            self.bar.stop()
