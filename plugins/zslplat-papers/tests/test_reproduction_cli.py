"""``reproduce`` and ``claims`` on the command line: what is asked for must mean something, before hours are spent."""

from __future__ import annotations

import json
import re

import pytest

FILE = "a-file-where-a-folder-should-be"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ("claims", "--run", "--suite", "nosuch"),
            2,
            "unknown suite or measure that tests these claims (--suite) 'no",
        ),
        (("claims", "002", "--run", "--suite", "mfmr"), 2, "known: claims-slem"),
        (
            ("claims", "002", "--run", "--only", "digits"),
            2,
            "unknown data set of what tests these claims (--only) 'di",
        ),
        (("claims", "--suite", "mfmr", "--trials", "3"), 2, "--suite, --trials without --run"),
        (("claims", "--results", "nowhere"), 2, "nowhere: no such folder"),
        (("claims", "--keep"), 2, "--keep without --run"),
        (("claims", "002", "--cluster", "tcp://x:1", "--workers", "3"), 2, "--workers, --cluster without --run"),
        (("claims", "002", "--data-root", "nowhere", "--store", "s"), 2, "--data-root, --store without --run"),
        (("reproduce", "000-table-2", "--results", "cut"), 2, "--results without --keep"),
        (("reproduce", "000-table-2", "--dry-run", "--keep"), 2, "--keep with --dry-run"),
        (("claims", "002", "--run", "--data-root", "no-such-folder"), 2, "no-such-folder is no folder"),
        (("claims", "002", "--page", f"{FILE}/page.md"), 1, f"{FILE} cannot be written"),
        (("claims", "002", "--run", "--page", FILE), 2, f"{FILE} exists and is no page of results"),
        (("reproduce", "000-table-2", "--data-root", "no-such-folder"), 2, "no-such-folder is no folder"),
        (("reproduce", "000-table-2", "--keep", "--results", FILE), 1, f"{FILE} cannot be written"),
        (("reproduce", "000-table-2", "--keep", "--results", "cut"), 1, "reproduce-000-table-2.csv, entry 1, column "),
        (("claims", "002", "--run", "--keep", "--results", "cut"), 1, "claims.csv, entry 1, column "),
        (
            ("reproduce", "--only", "nosuch"),
            2,
            "--only without a table, which is what it is about; give a table or paper",
        ),
        (("reproduce", "--keep", "--oracle", "--trials", "3"), 2, "--oracle, --trials, --keep without a table"),
        (("reproduce", "--no-standins"), 2, "--no-standins without a table"),
        (
            ("reproduce", "000-table-2", "--only", "gaussian-ort/digit-pairs", "--no-standins", "--dry-run"),
            2,
            "--only 'gaussian-ort/digit-pairs': digit-pairs is a stand-in, and these are left out (--no-standins)",
        ),
        (
            ("reproduce", "xlsa17", "--way", "printed", "--dry-run"),
            2,
            "table xlsa17-gzsl has no cell in the way printed",
        ),
        (
            ("reproduce", "001", "--only", "/H"),
            2,
            "unknown row or column (--only) of 001-figure-4, 001-table-1, 001-t",
        ),
        (("reproduce", "000-table-2", "--only", "/H"), 2, "known: "),
    ],
)
def test_what_means_nothing_is_refused_before_anything_is_carried_out(call, tmp_path, arguments, code, said):
    (tmp_path / FILE).write_text("")
    (tmp_path / "cut").mkdir()
    for name, content in (("claims", "claim\n"), ("reproduce-000-table-2", "row\n")):
        (tmp_path / "cut" / f"{name}.csv").write_text(content)
    done = call(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert " ".join(done.stderr.split()).startswith("error: ")
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_plan_has_the_numbers_of_trials(call):
    asked = ("reproduce", "000-table-2", "--only", "eszsl/digit-pairs", "--way", "ours", "--dry-run")
    (found,) = json.loads(call(*asked, "--json").stdout)
    (line,) = found["cells"]
    done = call(*asked, "--probe", "0").stdout
    assert re.search(rf"eszsl .*digit-pairs .*ours .* {line['trials']} ", done)
    assert min(line["trials"], line["repeats"], line["seconds"]) > 0
    # Without a record and without a probe nothing is known of the time.
    assert "Estimate: 1 study of unknown time and memory (--probe times methods), 0.0 GB of the cache on disk" in done
    foreseen = found["foresight"]
    assert (foreseen["studies"], foreseen["unknown"], foreseen["least"]) == (1, 0, False)
    rows = 4800 * 128 * 4
    assert foreseen["seconds"] > 0
    assert foreseen["peak_bytes"] > rows
    assert rows <= foreseen["disk_bytes"] < 100 * rows
