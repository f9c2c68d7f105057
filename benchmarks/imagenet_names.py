"""Write the names of the classes of ImageNet-1k, ``zslplat/data/imagenet-1k.tsv``, from the data of the package timm.

A name that another class of ImageNet-21k shares is marked with ``?`` where nothing tells which of them is meant, such
as ``crane``: there the name stands as early in the list of names, and the other is no tree or plant of the same fruit.

    python benchmarks/imagenet_names.py timm/data/_info
"""

import sys
from collections import defaultdict
from pathlib import Path

NOTICE = """\
# The 1000 classes of ILSVRC 2012 (ImageNet-1k): WordNet id, and the names of the synset. `?`: of other classes, too.
# Order and names are those of timm 1.0.31 (Apache-2.0). The names are from WordNet, copyright Princeton University:
# "Permission to use, copy, modify and distribute this software and database and its documentation for any purpose and
# without fee or royalty is hereby granted, provided that you agree to comply with the following copyright notice and
# statements, including the disclaimer, and that the same appear on ALL copies of the software, database and
# documentation ... WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved. THIS SOFTWARE AND DATABASE
# IS PROVIDED "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES, EXPRESS OR IMPLIED."
"""
# By the first digits of a WordNet id: animals, things, and what grows with what is eaten of it; all else is no picture.
KINDS = {
    "01": "animal",
    "02": "animal",
    "03": "thing",
    "04": "thing",
    **dict.fromkeys(("07", "11", "12", "13"), "food"),
}


def main(folder: Path, target: Path) -> None:
    synsets = (folder / "imagenet_synsets.txt").read_text().split()
    lines = (folder / "imagenet_synset_to_lemma.txt").read_text(encoding="utf-8").splitlines()
    names = {synset: text.split(", ") for synset, text in (line.split("\t") for line in lines)}
    places = defaultdict(dict)
    for synset, of_synset in names.items():
        for place, name in enumerate(of_synset):
            places[name.lower()][synset] = place

    def is_shared(synset: str, name: str) -> bool:
        own = places[name.lower()][synset]
        return any(
            place <= own and other[1:3] in KINDS and {KINDS.get(synset[1:3]), KINDS[other[1:3]]} != {"food"}
            for other, place in places[name.lower()].items()
            if other != synset
        )

    rows = (
        f"{synset}\t{', '.join(name + '?' * is_shared(synset, name) for name in names[synset])}" for synset in synsets
    )
    target.write_text(NOTICE + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).resolve().parent.parent / "zslplat" / "data" / "imagenet-1k.tsv")
