"""``fetch``: a data set of the public archive, brought under the data root."""

from typing import Annotated, Any

from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import DataRootOptions, Json, Quiet
from zslplat.front.schema import REQUIRED, Option

_SETS = ("AWA1", "AWA2", "CUB", "SUN", "APY")


class FetchOptions(DataRootOptions, total=False):
    """The options of ``fetch``."""

    name: Annotated[str, Option("AWA1, AWA2, CUB, SUN or APY.", REQUIRED, complete=_SETS, positional=True)]
    url: Annotated[str | None, Option("Where the archive is, instead of its public address.")]
    sha256: Annotated[str, Option("Checksum that the archive must have, in place of the first one's.", "")]
    keep_archive: Annotated[bool, Option("Keep the archive after unpacking.", False)]
    json: Json
    quiet: Quiet


def fetch(options: FetchOptions) -> None:
    """Download the files of a public data set where they are missing.

    A download that broke off goes on where it stopped. The digest of the first one is kept beside the data, and a later
    one must have it.
    """
    from zslplat.data.source import HOW_TO_SET
    from zslplat.errors import DataError
    from zslplat.front.requests import settings_of
    from zslplat.registry import names
    from zslplat_papers.public_archive.fetching import fetch_set

    root = settings_of(options).data_root
    if root is None:
        raise DataError(f"no data root is set; name the folder that is to hold your data sets with {HOW_TO_SET}")
    with _download_progress(options["quiet"] or options["json"]) as progress:
        files = fetch_set(
            options["name"],
            root,
            names("datasets"),
            url=options["url"],
            sha256=options["sha256"],
            progress=progress,
            keep_archive=options["keep_archive"],
        )
    if options["json"]:
        print_json(vars(files))
        return
    origin = f", from {files.url}, SHA-256 {files.sha256}" if files.sha256 else ""
    echo(f"{files.name}: {'fetched' if files.new else 'there already'}, {files.folder}{origin}")
    if files.also:
        echo(f"came with it: {', '.join(files.also)}")


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
