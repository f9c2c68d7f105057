"""Strange texts for the fuzz campaign: specs, ranges, preprocessing, configurations and suites.

A taker hands an input to the code that users reach, by way of an empty folder where it is a file. It returns nothing:
what is raised tells how the input was taken.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from zslplat.config import read_config
from zslplat.data.store.preprocessing import STEPS, Preprocessing, fit_steps
from zslplat.errors import UsageError
from zslplat.space import Choice, Integer, Optional, Real, Scaled, Text, parse_range
from zslplat.spec import Spec, format_value, parse_assignment, parse_value
from zslplat.suites.suite import load_suite

# Beside ordinary letters: what ends texts in C, what terminals obey, what runs from right to left, half a character.
ODD = "\0\x1b\x07\n\r\t\x85\u2028\u202e\u2066\ufeff\ud800\udc80éß漢😀"

HUGE = (
    "1e999999", "-1e999999", "1" * 5000, "9" * 1_000_000, "0." + "3" * 5000, "1e-999999", "1e+", "--1", "0x10", "1_000",
    "inf", "-inf", "nan", "+5", "٣", "1e5e5", "(" * 100_000, "[" * 100_000, "a(" * 50_000, "a(b=" * 30_000, "[[1]" * 99,
    "a(b=[" * 300 + "1" + "])" * 300, '"' * 9999, "\\" * 999, "+".join("ab" * 4000), "*median", "1*median",
    "1e400*median",
)  # fmt: skip


def chars(extra: str) -> st.SearchStrategy[str]:
    """Return texts that hardly leave an alphabet."""
    return st.text(
        st.one_of(*[st.sampled_from(extra)] * 6, st.sampled_from("abcXYZ019_"), st.sampled_from(ODD)), max_size=40
    )


WORDS = st.one_of(
    st.sampled_from(("a", "lam", "k", "mfmr", "x-1", "none", "True", "inf", "1a", "z:a", "cq+phog")),
    st.text(max_size=6),
)

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.sampled_from(("0.7*median", *HUGE[:12])),
)  # fmt: skip

VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.builds(Spec, WORDS, st.dictionaries(WORDS, inner, max_size=3))
    ),
    max_leaves=8,
)


@st.composite
def bent(draw: st.DrawFn, texts: st.SearchStrategy[str], odd: str) -> str:
    """Return a text as it is, or with pieces taken out, doubled or put in."""
    text = draw(texts)
    for _ in range(draw(st.sampled_from((0, 0, 1, 2, 5)))):
        place = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 5))
        piece = draw(st.one_of(st.just(""), st.sampled_from((*odd, *ODD)), st.just(text[: length * 3])))
        text = text[:place] + piece + text[place + length :]
    return text


def damaged(content: bytes, seed: int, cuts: int) -> bytes:
    """Return a file with some bytes flipped, set, taken out or put in, or cut off."""
    draw, found = random.Random(seed), bytearray(content)
    for _ in range(cuts):
        if not found:
            break
        place, how = draw.randrange(len(found)), draw.randrange(7)
        if how < 2:
            found[place] ^= 1 << draw.randrange(8)
        elif how == 2:
            found[place : place + 4] = draw.choice((b"\xff" * 4, bytes(4), b"\xff\xff\xff\x7f", draw.randbytes(4)))
        elif how == 3:
            del found[place : place + draw.randrange(1, 32)]
        elif how == 4:
            found[place:place] = found[place : place + draw.randrange(1, 64)]
        elif how == 5:
            found[place] = draw.choice((0, 10, 34, 44, 255, 128))
        elif draw.randrange(4) == 0:
            del found[place:]
    return bytes(found)


CUTS = st.sampled_from((0, 0, 0, 0, 1, 1, 2, 8))

SEEDS = st.integers(0, 2**32 - 1)


def take_spec(text: str, folder: Path) -> None:
    """Read a text in each of the ways; what is written of a component is read as the same component."""
    refused: list[Exception] = []
    for reader in (Spec.parse, parse_value, parse_assignment):
        try:
            found = reader(text)
        except UsageError as error:
            refused.append(error)
            continue
        if isinstance(found, Spec) and str(Spec.parse(str(found))) != str(found):
            raise AssertionError(f"{found!r} is written as {str(found)!r} and read as {Spec.parse(str(found))!r}")
    if len(refused) == 3:
        raise refused[0]


DOMAINS = (
    None, Real(), Real(0, 1), Real(0, open_low=True), Integer(), Integer(1, 9), Choice(("a", 1, None)), Text(),
    Optional(Integer(0)), Scaled(Real(0), "*median"), Real(unit="*median"),
)  # fmt: skip


def take_space(given: tuple[str, Any], folder: Path) -> None:
    found = parse_range(*given)
    str(found)
    if isinstance(found, Real) and found.steps:
        found.on_step(found.low)


def take_features(given: tuple[str, str, int], folder: Path) -> None:
    features, signatures, seed = given
    spec = Preprocessing().overridden(features, signatures)
    Preprocessing().overridden(spec.text_of("features"), spec.text_of("signatures"))
    rows = np.random.default_rng(seed)
    X = rows.normal(size=(5, 3)) * 10.0 ** rows.integers(-200, 200)
    X = np.round(X) if seed % 3 else X
    for steps in (spec.features, spec.signatures):
        with np.errstate(all="ignore"):
            if len(steps) < 9:
                fit_steps(steps, X, every=X if seed % 2 else None).apply(X[:2])


def take_config(content: bytes, folder: Path) -> None:
    (folder / "best.toml").write_bytes(content)
    read_config(folder / "best.toml")


def take_suite(content: bytes, folder: Path) -> None:
    (folder / "suite.toml").write_bytes(content)
    load_suite(str(folder / "suite.toml"))


def _toml(content: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in content.items())


KEYS = ("method", "dataset", "task", "features", "signatures", "seed", "repeats", "trial", "carried", "data", "study")

SUITE_KEYS = ("data", "row", "tasks", "summary", "metrics", "differences", "only_tested", "trials", "workers", "seed")

PLAIN = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.text("ab(=)[]1.,\0\x1b\ud800é", max_size=8),
        st.floats(allow_nan=False),
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


def tomls(keys: tuple[str, ...], sound: str) -> st.SearchStrategy[bytes]:
    """Return TOML files: sound, of odd values, damaged, or nothing of the kind."""
    made = st.dictionaries(st.sampled_from(keys), PLAIN, max_size=6).map(_toml)
    extreme = st.sampled_from(
        ["a = " + "[" * 100_000, "a = " + "{b=" * 30_000, "seed = " + "9" * 10_000, "a." * 20_000 + "b = 1",
         "seed = 1e999999", "[" + "a." * 5000 + "b]", "method = \"a\\u0000b\"", "seed = 0x" + "f" * 9000]
    )  # fmt: skip
    texts = st.one_of(made, made, st.just(sound), st.just(sound), extreme, st.text(max_size=60))
    return st.builds(
        lambda text, seed, cuts, code: damaged(text.encode(code, "surrogatepass"), seed, cuts),
        texts, SEEDS, CUTS, st.sampled_from(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")),
    )  # fmt: skip


WRITTEN = st.one_of(
    st.builds(Spec, WORDS, st.dictionaries(WORDS, VALUES, max_size=3)).map(str), VALUES.map(format_value)
)

SPECS = st.one_of(WRITTEN, WRITTEN, bent(WRITTEN, "()[]=,\"'+-.:"), chars("()[]=,\"'+-.:*/ e"), st.sampled_from(HUGE))

FLAGS = ("", "", ":log", ":int", ":log:15", ":0", ":" + "9" * 5000)
RANGES = st.one_of(
    st.builds("{}..{}{}".format, st.integers(-5, 5), st.integers(), st.sampled_from(FLAGS)),
    st.builds("{}..{}{}".format, st.floats(0, 9), st.floats(9, 99), st.sampled_from(FLAGS)),
    bent(st.builds("{}..{}{}".format, LEAVES, LEAVES, st.sampled_from(FLAGS)), ".:|*"),
    st.lists(VALUES.map(format_value), max_size=3).map("|".join),
    st.lists(st.sampled_from(("a", "1", "none", "0.5*median")), min_size=1, max_size=3).map("|".join),
    chars(".:|*/median e-"),
    st.sampled_from(HUGE),
)

STEP_TEXTS = st.one_of(
    st.lists(st.sampled_from((*STEPS, "", " l2 ")), max_size=5).map(",".join),
    bent(st.just("l2;phog:hellinger,l2"), ";:,"),
    chars(";:,"),
    st.sampled_from(HUGE),
)

SOUND_CONFIG = (
    'method = "eszsl(lam=1)"\ndataset = "AWA2"\ntask = "gzsl"\nseed = 0\nrepeats = 1\n\n[carried]\nepoch = 3\n'
)

SOUND_SUITE = """summary = "two"
tasks = ["zsl"]
trials = 3

[[data]]
name = "made"
dataset = "synthetic"

[[row]]
name = "eszsl"
method = "eszsl"
"""


@dataclass(frozen=True)
class Kind:
    """One kind of input: how they are made, how they are taken, and how many in a thousand are of this kind."""

    inputs: st.SearchStrategy[Any]
    take: Callable[[Any, Path], None]
    share: int


TEXTS = {
    "spec": Kind(SPECS, take_spec, 250),
    "space": Kind(st.tuples(RANGES, st.sampled_from(DOMAINS)), take_space, 200),
    "features": Kind(st.tuples(STEP_TEXTS, STEP_TEXTS, SEEDS), take_features, 120),
    "config": Kind(tomls(KEYS, SOUND_CONFIG), take_config, 100),
    "suite": Kind(tomls(SUITE_KEYS, SOUND_SUITE), take_suite, 50),
}
