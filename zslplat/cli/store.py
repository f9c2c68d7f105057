"""``store check``, ``rebuild``, ``merge`` and ``gc``: looking after what is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import options as o
from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo
from zslplat.wording import counted

app = Commands(help="The store: check it, make MLflow's part anew, merge another, clean up.")


@app.command()
def check(store: o.Store = None, storage_url: o.StorageUrl = None, as_json: o.Json = False) -> None:
    """Read everything that is recorded, models too; exit code 1 where something is not as written.

    Outcomes of other folders that share the database are counted, and not read.
    """
    from zslplat.cli.reporting import print_json
    from zslplat.errors import StoreError
    from zslplat.evaluation.scoring.outcomes import read_outcomes
    from zslplat.models.folder import MODEL, SHARED, exists, read_model
    from zslplat.records.maintenance import lies_elsewhere, problems_of
    from zslplat.records.opening import existing_records

    settings = o.settings_from(store=store, storage_url=storage_url)
    records = existing_records(settings, o.say)
    found = list(problems_of(records))
    evaluations, elsewhere, run_of = 0, 0, records.runs()
    for owner, key, record in records.all_evaluations():
        evaluations += 1
        if lies_elsewhere(settings, records, owner, run_of(owner, key)):
            elsewhere += any("outcomes" in fold for fold in record.get("folds", []))
            continue
        if any("outcomes" in fold for fold in record.get("folds", [])):
            try:
                read_outcomes(records.evaluation_folder(run_of(owner, key)))
            except StoreError as error:
                found.append(str(error))
        folder = records.evaluation_folder(run_of(owner, key)) / MODEL
        if exists(folder):
            try:
                read_model(folder, settings.store / SHARED)
            except StoreError as error:
                found.append(str(error))
    counts = {"studies": len(records.identities()), "evaluations": evaluations, "elsewhere": elsewhere}
    records.close()
    if as_json:
        print_json(
            {
                "store": str(settings.store),
                "identity": records.identity,
                "schema": records.schema,
                **counts,
                "problems": found,
            }
        )
    else:
        echo(f"store {settings.store}, identity {records.identity}, schema {records.schema}")
        beside = f"{counted(evaluations, 'evaluation')} beside trials"
        echo(f"{_studies(counts['studies'])}, {beside}, {counted(len(found), 'problem')}")
        if elsewhere:
            echo(f"the outcomes of {counted(elsewhere, 'evaluation')} lie elsewhere: the database is shared")
        for line in found:
            echo(f"  {line}")
    if found:
        raise typer.Exit(1)


@app.command()
def rebuild(
    matrices: Annotated[
        str,
        typer.Option("--matrices", help="Learned matrices to have anew, by evaluating again: final, all or none."),
    ] = "final",
    workers: o.Workers = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Make MLflow's database and artifacts anew from the records; what MLflow shows already is left as it is."""
    from zslplat.cli.reporting import print_json, reporting
    from zslplat.errors import UnknownNameError
    from zslplat.records.opening import existing_records
    from zslplat.tracking.maintenance import ALL, FINAL, NONE
    from zslplat.tracking.maintenance import rebuild as make_anew

    if matrices not in (NONE, FINAL, ALL):
        raise UnknownNameError("value of --matrices", matrices, (NONE, FINAL, ALL))
    settings = o.settings_from(data_root, store, tracking_uri, storage_url)
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        records = existing_records(settings, reporter.warn)
        settings.make_store()
        done = make_anew(settings, records, reporter, matrices=matrices, workers=o.worker_count(workers))
        records.close()
    if as_json:
        print_json(vars(done))
        return
    runs = counted(done.runs, "single run or sweep", "single runs and sweeps")
    echo(f"shown from the records: {_studies(done.studies)}, {runs}")
    echo(f"evaluated again for their matrices: {done.evaluated}, with the recorded numbers")
    if done.left_out:
        echo(f"matrices that are gone and were not made again: {done.left_out}")


@app.command()
def merge(
    other: Annotated[Path, typer.Argument(help="Folder of the store to take over from.")],
    store: o.Store = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
) -> None:
    """Take over the studies, runs, outcomes and tags of another store; nothing that is here is lost."""
    from zslplat.cli.reporting import print_json
    from zslplat.records.database import Records
    from zslplat.records.maintenance import merge as take_over
    from zslplat.records.opening import existing_records
    from zslplat.settings import resolve_settings, sqlite_url

    settings = o.settings_from(store=store, storage_url=storage_url)
    theirs = resolve_settings({"store": str(other), "storage_url": sqlite_url(other.absolute() / "optuna.db")})
    there = existing_records(theirs, o.say)
    settings.make_store()
    records = Records(settings, o.say)
    done = take_over(records, settings, there, theirs)
    there.close()
    records.close()
    if as_json:
        print_json(vars(done))
        return
    echo(f"taken over from {other}: {_studies(len(done.studies))}, {counted(done.evaluations, 'evaluation')}")
    if done.tagged:
        echo(f"got the tags that a copy of it has there: {counted(done.tagged, 'record')}")
    for line in done.left_out:
        echo(f"left out: {line}")
    echo("zslplat store rebuild shows them in MLflow")


@app.command()
def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    store: o.Store = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
) -> None:
    """Remove what no record needs: outcomes of nothing, logs of what is over. Nothing that is recorded goes."""
    from zslplat.cli.reporting import print_json
    from zslplat.listeners import catch_up
    from zslplat.records.maintenance import at_rest, removable, remove, size_of
    from zslplat.records.opening import existing_records

    settings = o.settings_from(store=store, storage_url=storage_url)
    records = existing_records(settings, o.say)
    catch_up(settings, o.say, records)
    with at_rest(settings):
        found = removable(settings, records)
        total = sum(size_of(path) for path in found)
        for path in () if dry_run else found:
            remove(path)
    records.close()
    rows = {str(path.relative_to(settings.store)): why for path, why in found.items()}
    if as_json:
        print_json({"removed": not dry_run, "bytes": total, "paths": rows})
        return
    for name, why in rows.items():
        echo(f"{name}: {why}")
    echo(f"{'would remove' if dry_run else 'removed'} {len(rows)} files and folders, {total / 2**20:.1f} MiB")


def _studies(count: int) -> str:
    return counted(count, "study", "studies")
