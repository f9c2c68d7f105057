"""``store check``, ``rebuild``, ``merge`` and ``gc``: looking after what is recorded."""

from pathlib import Path
from typing import Annotated, Any

import typer

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json, PlaceOptions, SilenceOptions, StoreOptions
from zslplat.front.schema import REQUIRED, Option
from zslplat.names import counted

app = Commands(help="The store: show, check, clean up, merge another, make MLflow's part anew.", default="show")


def register(group: Commands) -> None:
    """Add the commands to the application."""
    group.add_typer(app, name="store")
    group.command()(settings)


class SettingsOptions(PlaceOptions, SilenceOptions, total=False):
    """The options of ``settings``."""

    json: Json


def settings(options: SettingsOptions) -> None:
    """Show the settings in force, and where each comes from.

    The first of these wins: command-line option, environment variable, zslplat.toml in the working directory, the
    user's config.toml, built-in default.
    """
    from zslplat.cli.output import print_columns
    from zslplat.settings import settings_in_force

    rows = settings_in_force(options)
    if options["json"]:
        print_json([{"name": name, "value": value, "from": origin} for name, value, origin in rows])
        return
    print_columns([("setting", "value", "from"), *((name, value or "none", origin) for name, value, origin in rows)])


class ShowStoreOptions(StoreOptions, total=False):
    """The options of ``store show``."""

    json: Json


@app.command()
def show(options: ShowStoreOptions) -> None:
    """Show where the store is, what it holds, and how large its parts are."""
    from zslplat.cli.output import open_store, print_columns
    from zslplat.records.maintenance import size_of

    with open_store(options) as (places, records):
        counts = {"studies": len(records.identities()), "evaluations": sum(1 for _ in records.all_evaluations())}
        content = {"store": str(places.store), "identity": records.identity, "schema": records.schema, **counts}
    sizes = {path.name: size_of(path) for path in sorted(places.store.iterdir())}
    if options["json"]:
        print_json({**content, "bytes": sizes})
        return
    echo(f"store {places.store}, identity {content['identity']}, schema {content['schema']}")
    echo(f"{_studies(counts['studies'])}, {counted(counts['evaluations'], 'evaluation')} beside trials")
    shown = [(f"{size / 2**20:.1f} MiB", name) for name, size in sizes.items() if size > 2**20 / 20]
    if shown:
        print_columns(shown, right=(0,))


class CheckStoreOptions(StoreOptions, total=False):
    """The options of ``store check``."""

    json: Json


@app.command()
def check(options: CheckStoreOptions) -> None:
    """Read everything that is recorded, models too; exit code 1 where something is not as written.

    Outcomes of other folders that share the database are counted, and not read.
    """
    from zslplat.cli.output import open_store
    from zslplat.errors import StoreError
    from zslplat.evaluation.scoring.outcomes import read_outcomes
    from zslplat.models.folder import MODEL, exists, read_model
    from zslplat.records.maintenance import lies_elsewhere, problems_of

    with open_store(options) as (settings, records):
        lines = list(problems_of(records))
        evaluations, elsewhere, run_of = 0, 0, records.runs()
        for owner, key, record in records.all_evaluations():
            evaluations += 1
            run, has_outcomes = run_of(owner, key), any("outcomes" in fold for fold in record.get("folds", []))
            if lies_elsewhere(settings, records, owner, run):
                elsewhere += has_outcomes
                continue
            folder = records.evaluation_folder(run)
            reads: list[tuple[Any, Any]] = [(read_outcomes, folder)] if has_outcomes else []
            for read, path in [*reads, *([(read_model, folder / MODEL)] if exists(folder / MODEL) else [])]:
                try:
                    read(path)
                except StoreError as error:
                    lines.append(str(error))
        counts = {"studies": len(records.identities()), "evaluations": evaluations, "elsewhere": elsewhere}
    if options["json"]:
        print_json(
            {
                "store": str(settings.store),
                "identity": records.identity,
                "schema": records.schema,
                **counts,
                "problems": lines,
            }
        )
    else:
        echo(f"store {settings.store}, identity {records.identity}, schema {records.schema}")
        beside = f"{counted(evaluations, 'evaluation')} beside trials"
        echo(f"{_studies(counts['studies'])}, {beside}, {counted(len(lines), 'problem')}")
        if elsewhere:
            echo(f"the outcomes of {counted(elsewhere, 'evaluation')} lie elsewhere: the database is shared")
        for line in lines:
            echo(f"  {line}")
    if lines:
        raise typer.Exit(1)


class RebuildStoreOptions(PlaceOptions, total=False):
    """The options of ``store rebuild``."""

    json: Json


@app.command()
def rebuild(options: RebuildStoreOptions) -> None:
    """Make MLflow's database and artifacts anew from the records; what MLflow shows already is left as it is."""
    from zslplat.cli.output import open_store, warn
    from zslplat.tracking.maintenance import rebuild as make_anew

    with open_store(options) as (settings, records):
        settings.make_store()
        studies, runs = make_anew(settings, records, warn)
    if options["json"]:
        print_json({"studies": studies, "runs": runs})
        return
    echo(
        f"shown from the records: {_studies(studies)}, {counted(runs, 'single run or sweep', 'single runs and sweeps')}"
    )


class MergeStoreOptions(StoreOptions, total=False):
    """The options of ``store merge``."""

    other: Annotated[Path, Option("Folder of the store to take over from.", REQUIRED, positional=True)]
    json: Json


@app.command()
def merge(options: MergeStoreOptions) -> None:
    """Take over the studies, runs, outcomes and tags of another store; nothing that is here is lost."""
    from zslplat.cli.output import warn
    from zslplat.front.requests import settings_of
    from zslplat.records.database import Records
    from zslplat.records.maintenance import merge as take_over
    from zslplat.records.opening import existing_records
    from zslplat.settings import resolve_settings, sqlite_url

    settings = settings_of(options)
    theirs = resolve_settings(
        {"store": str(options["other"]), "storage_url": sqlite_url(options["other"].absolute() / "optuna.db")}
    )
    with existing_records(theirs, warn) as there:
        settings.make_store()
        with Records(settings, warn) as records:
            done = take_over(records, settings, there, theirs)
    if options["json"]:
        print_json(vars(done))
        return
    echo(
        f"taken over from {options['other']}: {_studies(len(done.studies))}, {counted(done.evaluations, 'evaluation')}"
    )
    if done.tagged:
        echo(f"got the tags that a copy of it has there: {counted(done.tagged, 'record')}")
    for line in done.left_out:
        echo(f"left out: {line}")
    echo("zslplat store rebuild shows them in MLflow")


class GcStoreOptions(StoreOptions, total=False):
    """The options of ``store gc``."""

    dry_run: Annotated[bool, Option("Only say what would be removed.", False)]
    json: Json


@app.command()
def gc(options: GcStoreOptions) -> None:
    """Remove what no record needs: outcomes of nothing, logs of what is over. Nothing that is recorded goes."""
    from zslplat.cli.output import open_store, warn
    from zslplat.listeners import catch_up
    from zslplat.records.maintenance import at_rest, removable, remove, size_of

    with open_store(options) as (settings, records):
        catch_up(settings, warn, records)
        with at_rest(settings):
            reasons = removable(settings, records)
            total = sum(size_of(path) for path in reasons)
            for path in () if options["dry_run"] else reasons:
                remove(path)
    rows = {str(path.relative_to(settings.store)): why for path, why in reasons.items()}
    if options["json"]:
        print_json({"removed": not options["dry_run"], "bytes": total, "paths": rows})
        return
    for name, why in rows.items():
        echo(f"{name}: {why}")
    what = counted(len(rows), "file or folder", "files and folders")
    echo(f"{'would remove' if options['dry_run'] else 'removed'} {what}, {total / 2**20:.1f} MiB")


def _studies(count: int) -> str:
    return counted(count, "study", "studies")
