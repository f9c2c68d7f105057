"""An archive in the full shape of the public one: true splits and signatures, drawn features of 2048 dimensions.

    python benchmarks/xlsa17_archive.py SPLITS xlsa17.zip [--serve]

SPLITS is a folder with the ``att_splits.mat`` and class lists of AWA1, AWA2, CUB, SUN and APY. A row is drawn of a
class that its split allows, so that each class has rows where the split says so. Features are rectified, as those of a
network are: x = max(0, s_c W + e), with the signature s_c of the class, W and e normal. ``--serve`` then serves the
archive on this machine and prints the command that fetches it. Time and memory of each step are those of the commands:

    /usr/bin/time -v zslplat data fetch AWA2 --url URL --data-root DATA
    zslplat data list --data-root DATA
    zslplat reproduce 000-table-2 --dry-run --data-root DATA
    zslplat reproduce 000-table-2 --only eszsl/awa2-ps --data-root DATA
"""

from __future__ import annotations

import argparse
import functools
import http.server
import io
import zipfile
from pathlib import Path

import numpy as np
import scipy.io

SETS = ("AWA1", "AWA2", "CUB", "SUN", "APY")
DIMENSIONS = 2048


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("splits", type=Path)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if not options.archive.exists():
        with zipfile.ZipFile(options.archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name in SETS:
                folder = options.splits / name
                for file in sorted(folder.iterdir()):
                    archive.write(file, f"xlsa17/data/{name}/{file.name}")
                archive.writestr(f"xlsa17/data/{name}/res101.mat", features_of(folder))
                print(f"{name}: drawn", flush=True)
    print(f"{options.archive}: {options.archive.stat().st_size / 1e6:.0f} MB")
    if options.serve:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=options.archive.absolute().parent)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            url = f"http://127.0.0.1:{server.server_address[1]}/{options.archive.name}"
            print(f"zslplat data fetch AWA2 --url {url} --data-root DATA", flush=True)
            server.serve_forever()


def features_of(folder: Path) -> bytes:
    """Return the content of ``res101.mat`` of a data set: ``features`` (2048, n), and ``labels`` (n, 1) from 1."""
    rng = np.random.default_rng(0)
    splits = scipy.io.loadmat(folder / "att_splits.mat")
    names = [str(name[0][0]) for name in splits["allclasses_names"]]
    test = (folder / "testclasses.txt").read_text().split()
    unseen = np.array([names.index(name) for name in test])
    seen = np.setdiff1d(np.arange(len(names)), unseen)
    rows = {key: splits[f"{key}_loc"].ravel().astype(int) - 1 for key in ("trainval", "test_seen", "test_unseen")}
    y = np.empty(sum(map(len, rows.values())), dtype=int)
    for key, of_split in rows.items():
        y[of_split] = np.resize(rng.permutation(unseen if key == "test_unseen" else seen), len(of_split))
    X = rectified_rows(y, splits["att"].T, rng)
    file = io.BytesIO()
    scipy.io.savemat(file, {"features": X.T, "labels": y[:, None] + 1})
    return file.getvalue()


def rectified_rows(y: np.ndarray, signatures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a drawn row (n, 2048) in float32 for each label y (n,) of the classes with these signatures (c, a)."""
    centred = signatures - signatures.mean(axis=0)
    prototypes = centred @ rng.normal(size=(centred.shape[1], DIMENSIONS))
    prototypes /= prototypes.std()
    X = np.empty((len(y), DIMENSIONS), dtype=np.float32)
    for start in range(0, len(y), 4096):
        block = y[start : start + 4096]
        noise = rng.normal(size=(len(block), DIMENSIONS))
        X[start : start + 4096] = np.maximum(0, 0.5 * prototypes[block] + noise)
    return X


if __name__ == "__main__":
    main()
