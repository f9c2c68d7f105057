"""``encode``: images and names of classes become a data set."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json, Quiet
from zslplat.front.schema import REQUIRED, WORK, Option

_LABELLED = re.compile(r"([A-Za-z][\w-]*)=(.+)", re.DOTALL)
_MOST_NAMES = 10
_MOST_THREADS = 4


class EncodedImages(TypedDict, total=False):
    """What is encoded, and by what."""

    images: Annotated[
        Path | None,
        Option("Folder of folders by class, CSV of path and label, or Parquet with image bytes.", positional=True),
    ]
    to: Annotated[Path, Option("Folder of the data set; or a .csv file that gets signatures alone.", REQUIRED)]
    image_encoder: Annotated[
        list[str] | None,
        Option(
            "Encoder of the images, as hog or timm(model=...); several are views. NAME=ENCODER names it.", short="-i"
        ),
    ]
    text_encoder: Annotated[
        list[str] | None,
        Option("Encoder of the names, as minilm; several are signature sets. NAME=ENCODER names it.", short="-t"),
    ]
    names: Annotated[Path | None, Option("Names of the classes, one a line (.txt), or label,name (.csv).")]
    prompts: Annotated[
        str | None,
        Option("What is said of a name: name, photo, ensemble, or a file; default: photo, name for word vectors."),
    ]
    descriptions: Annotated[Path | None, Option("Lines of class,text in place of prompts; a class may have several.")]
    attributes: Annotated[str | None, Option("CSV of class and attributes, a signature set beside the others.")]


class SplitOptions(TypedDict, total=False):
    """Which rows are tested."""

    unseen: Annotated[str | None, Option("Classes that never train: a+b, a count, or a share; default 0.2, drawn.")]
    seen_share: Annotated[float, Option("Share of the rows of seen classes that are tested.", 0.2, least=0, most=0.9)]


class EncodeOptions(EncodedImages, SplitOptions, total=False):
    """The options of ``encode``."""

    batch_size: Annotated[int, Option("Images at a time; 0 for what fits the memory.", 0, least=0, panel=WORK)]
    threads: Annotated[
        int | None, Option(f"Threads; default: the cores, at most {_MOST_THREADS}.", least=1, panel=WORK)
    ]
    download: Annotated[bool, Option("Let libraries fetch weights that are not there.", False)]
    skip_unreadable: Annotated[bool, Option("Leave images out that cannot be read, and count them.", False)]
    restart: Annotated[bool, Option("Remove what an earlier run wrote into the folder, and begin anew.", False)]
    json: Json
    quiet: Quiet


def encode(options: EncodeOptions) -> None:
    """Turn a folder of images and a list of class names into a data set.

    A run that was interrupted resumes with the same command. Nothing is downloaded without --download. Without images,
    signatures are added to the data set in the folder.
    """
    from zslplat.data.feature_card import EncoderFacts
    from zslplat.errors import UsageError
    from zslplat_encoders import class_texts, data_set

    folder, texts = options["to"], options["text_encoder"] or []
    if options["images"] is None and options["image_encoder"]:
        raise UsageError("--image-encoder without images: name them first, zslplat encode IMAGES ...")
    if options["images"] is not None and not options["image_encoder"]:
        raise UsageError("images without an encoder: add --image-encoder hog, or another (zslplat list encoders)")
    if options["images"] is None and not (texts or options["attributes"]):
        raise UsageError("nothing to encode: name images and --image-encoder, or --text-encoder")
    result: dict[str, Any] = {"folder": str(folder), "notes": []}
    encoders = _opened(texts, "texts", options)
    prompts_of = {
        label: class_texts.read_prompts(options["prompts"] or ("name" if encoder.has_vocabulary else "photo"))
        for label, (encoder, _) in encoders.items()
    }
    if folder.suffix == ".csv":
        names = _names_alone(options)
    elif options["images"] is not None:
        names = _encode_images(options, folder, result)
    else:
        names = data_set.names_in(folder)
    signatures = {}
    for label, (encoder, facts) in encoders.items():
        from dataclasses import replace

        prompts = prompts_of[label]
        if not options["descriptions"]:
            class_texts.require_names_in_vocabulary(encoder, names)
        said = class_texts.texts_of(names, prompts, options["descriptions"])
        values = class_texts.encode_classes(encoder, said, names)
        data_set.write_signatures(
            folder if folder.suffix == ".csv" else folder / f"signatures-{label}.npy", values, names
        )
        source = "descriptions" if options["descriptions"] else " | ".join(prompts)
        signatures[label] = replace(facts, preprocessing=f"{facts.preprocessing}; mean of unit vectors of: {source}")
        unknown = class_texts.words_unknown(encoder, names)
        shown = "; ".join(f"{name}: {', '.join(words)}" for name, words in list(unknown.items())[:_MOST_NAMES])
        if unknown:
            result["notes"].append(f"{label}: out of vocabulary in {len(unknown)} of {len(names)} names: {shown}")
        result.setdefault("signatures", {})[label] = list(values.shape)
    if options["attributes"]:
        label, file = _labelled(options["attributes"], "att")
        data_set.copy_attributes(Path(file), folder, label, names)
        signatures[label] = EncoderFacts(encoder=f"table {Path(file).name}")
        result.setdefault("signatures", {})[label] = [len(names)]
    if folder.suffix != ".csv":
        source = "" if options["images"] is None else options["images"].name
        data_set.write_card(folder, source, result.pop("state", None), signatures)
    _print_result(result, options)


def _encode_images(options: EncodeOptions, folder: Path, result: dict[str, Any]) -> list[str]:
    """Encode the images, write rows and splits, and return the names of the classes."""
    from zslplat.errors import DataError, UsageError
    from zslplat_encoders import class_texts, data_set
    from zslplat_encoders.encoding import STATE, encode_images
    from zslplat_encoders.image_files import list_images

    assert options["images"] is not None
    images = list_images(options["images"])
    encoders = _opened(options["image_encoder"] or [], "images", options)
    classes = class_texts.read_names(options["names"], images.labels)
    if empty := classes.without_images():
        shown = ", ".join(empty[:_MOST_NAMES]) + ", ..." * (len(empty) > _MOST_NAMES)
        result["notes"].append(
            f"{options['names']}: {len(empty)} of {len(classes.names)} names have no images: {shown}"
        )
    unseen: Any = options["unseen"]
    if unseen is not None and re.fullmatch(r"\d*\.?\d+", unseen) and unseen not in classes.names:
        unseen = float(unseen) if "." in unseen else int(unseen)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / STATE).is_file():
        raise UsageError(f"{folder}: holds other files; give --to a new folder")
    if options["restart"] and folder.is_dir():
        data_set.remove_written(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _progress(options["quiet"] or options["json"]) as progress:
        state = encode_images(
            images,
            encoders,
            folder,
            batch=options["batch_size"],
            threads=_threads(options),
            progress=progress,
        )
    if state.unreadable and not options["skip_unreadable"]:
        lines = [f"{name}: {reason}" for name, reason in state.unreadable.items()]
        more = f"; and {len(lines) - _MOST_NAMES} more" if len(lines) > _MOST_NAMES else ""
        raise DataError(
            f"{len(lines)} of {len(images.names)} images cannot be read: {'; '.join(lines[:_MOST_NAMES])}{more}. Fix "
            "them and add --restart, or leave them out: the same command with --skip-unreadable"
        )
    result["notes"] += data_set.write_rows(folder, images, state, classes, unseen, options["seen_share"])
    result |= {"state": state, "rows": state.rows, "classes": len(classes.names)}
    result |= {"unreadable": list(state.unreadable), "views": list(state.views)}
    return list(classes.names)


def _names_alone(options: EncodeOptions) -> list[str]:
    from zslplat.errors import UsageError
    from zslplat_encoders.class_texts import read_names

    if options["images"] is not None or options["names"] is None or len(options["text_encoder"] or ()) != 1:
        raise UsageError("--to FILE.csv takes --names and one --text-encoder, and no images")
    return list(read_names(options["names"], ()).names)


def _labelled(text: str, usual: str = "") -> tuple[str, str]:
    """Return the label and the rest of ``LABEL=TEXT``; without one the usual label, or the name of the component."""
    match = _LABELLED.fullmatch(text)
    return (match[1], match[2]) if match else (usual or text.partition("(")[0].strip(), text)


def _opened(texts: list[str], what: str, options: EncodeOptions) -> dict[str, Any]:
    """Return {label: (opened encoder, its facts)}; raises :class:`UsageError` for one that does not encode this."""
    from zslplat.errors import UsageError
    from zslplat.evaluation.components import build_component
    from zslplat.spec import Spec

    encoders: dict[str, Any] = {}
    for text in texts:
        label, spec = _labelled(text)
        if label in encoders:
            raise UsageError(f"encoder {label} is given twice; name one: {label}-2={spec}")
        encoder = build_component("encoders", Spec.parse(spec))
        if what not in encoder.encodes:
            raise UsageError(f"{spec} encodes {' and '.join(encoder.encodes)}, not {what} (zslplat list encoders)")
        encoder.threads = _threads(options)
        encoders[label] = (encoder, encoder.open(download=options["download"]))
    return encoders


def _threads(options: EncodeOptions) -> int:
    return options["threads"] or min(_MOST_THREADS, os.cpu_count() or 1)


@contextmanager
def _progress(quiet: bool) -> Iterator[Any]:
    """Yield what is told of (images done, all images), shown as a bar on standard error; None where it is quiet."""
    if quiet:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from zslplat.front.terminal import Console

    columns = (TextColumn("encoding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True))
    task = bar.add_task("encoding", total=None)

    def update(done: int, total: int) -> None:
        bar.start()  # with the first batch, so that an error before it stands alone
        bar.update(task, completed=done, total=total)

    try:
        yield update
    finally:
        bar.stop()


def _print_result(result: dict[str, Any], options: EncodeOptions) -> None:
    import shlex

    if options["json"]:
        print_json(result)
        return
    if "rows" in result:
        left_out = f", {len(result['unreadable'])} unreadable left out" if result["unreadable"] else ""
        echo(f"{result['rows']} images of {result['classes']} classes{left_out}; views: {', '.join(result['views'])}")
    for label, shape in result.get("signatures", {}).items():
        echo(f"signatures {label}: {' x '.join(map(str, shape))}")
    if not options["quiet"]:
        for note in result["notes"]:
            echo(f"note: {note}")
    folder = shlex.quote(result["folder"])
    if options["to"].suffix == ".csv":
        echo(f"written: {folder}")
    else:
        echo(f"then: zslplat data info {folder}, or zslplat tune eszsl --dataset {folder}")
