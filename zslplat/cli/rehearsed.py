"""What ``tune --dry-run`` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from zslplat.cli.invocation import echo
from zslplat.spec import format_value
from zslplat.wording import counted


def print_rehearsal(found: Any, settings: Any, *, as_json: bool) -> None:
    """Print what a study would do and take, as lines or as JSON."""
    if as_json:
        from zslplat.cli.reporting import print_json

        print_json(asdict(found))
        return
    for line in lines_of(found, str(settings.store)):
        echo(line)


def lines_of(found: Any, store: str) -> list[str]:
    """Return what a study would do and take."""
    from zslplat.front.time_left import duration

    missing = found.trials - found.recorded
    search = found.search
    lines = [
        f"study {found.study} in {store}",
        f"  method         {found.method}",
        f"  data set       {found.dataset}: {found.data}",
        f"  task           {found.task}: {found.primary}; {len(found.folds)} validation folds",
        *(f"  {role:<13}  {steps}" for role, steps in found.preprocessing.items()),
    ]
    if found.searched:
        lines.append("  searched")
        for name, text in found.searched.items():
            default = f"  (trial 0: {format_value(found.defaults[name])})" if name in found.defaults else ""
            lines.append(f"    {name}: {text}{default}")
    else:
        lines.append("  searched       nothing")
    for number, values in enumerate(found.first, start=1):
        lines.append(f"    trial {number}: {', '.join(f'{k}={format_value(v)}' for k, v in values.items())}")
    patience = f", at most {search['patience']} without a better one" if search["patience"] else ""
    known = f", {found.recorded} of them recorded already" if found.recorded else ""
    lines += [
        f"  trials         {found.trials}{known}; sampler {search['sampler']}, batches of {search['batch_size']}, "
        f"pruner {search['pruner']}, seed {search['seed']}{patience}",
        f"  test           {found.tests} evaluation{'s' if found.tests > 1 else ''} of the best, on the test split",
    ]
    if found.reason:
        return [*lines, f"the trial that was to be timed failed: {found.reason}", _NOTHING]
    least = "at least " if found.at_least else "about "
    timed = "was stopped after" if found.at_least else "took"
    return [
        *lines,
        f"time: {least}{duration(found.seconds)} for {counted(missing, 'trial')} and the test with "
        f"{counted(found.workers, 'worker')}; a "
        f"trial at the defaults {timed} {found.trial_seconds:.2g} s, preparing {found.prepare_seconds:.2g} s",
        f"memory: about {size(found.memory_bytes)} in the workers together"
        if found.memory_bytes
        else "memory: not known, since the trial was stopped",
        f"disk: at most about {size(found.disk_bytes)} of records, pictures and matrices, {size(found.cache_bytes)} of "
        "cache, which is bounded",
        _NOTHING,
    ]


_NOTHING = "nothing is recorded; the same command without --dry-run carries it out"


def size(count: int) -> str:
    """Return bytes as people say them."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{max(count / 2**20, 0.1):.1f} MiB"
