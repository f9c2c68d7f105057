"""A plugin for tests: a well-behaved cheap method, and methods that hang, crash, gorge, spy or fail."""

import ctypes
import gc
import hashlib
import os
import pathlib
import sys
import time
import warnings

import numpy as np

from zslplat.api import (
    Choice,
    ClassFold,
    Curve,
    Dataset,
    DataSource,
    Diagnostics,
    Integer,
    MethodError,
    Optional,
    OutcomeWarning,
    Parameter,
    Real,
    SignatureSet,
    ZeroShotMethod,
    hookimpl,
)

SENTINEL = 12345.5


def linger(where):
    """Take longer than any test at the place that the environment names: whoever waits for the end of it fails."""
    if os.environ.get("TROUBLE_LINGERS") == where:
        time.sleep(3600)
    if os.environ.get("TROUBLE_LINGERS") == f"{where}, deaf":
        # Compiled code that runs for long and looks at no signal, but lets other threads run.
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)


def meet(name):
    """Wait until a fit of another name is under way, where the environment names a folder for it; once only."""
    folder = os.environ.get("TROUBLE_MEETS")
    if folder:
        pathlib.Path(folder, name).touch()
        while len(os.listdir(folder)) < 2:
            time.sleep(0.02)


class Plain(ZeroShotMethod):
    """Ridge regression from features to signatures, weighted by one parameter; quick, and the same every time."""

    summary = "cheap and well-behaved"
    random = True
    parameters = {
        "ridge": Parameter("ridge", Real(0, open_low=True), Real(1e-3, 1e3, log=True)),
        "mix": Parameter("share of the bias column", Real(0, 1), Real(0, 1)),
        "pause": Parameter("seconds to sleep in each fit", Real(0)),
        "fail_above": Parameter("fail where mix is above", Real(0, 1)),
        "seed": Parameter("seed of the noise", Integer(0)),
    }

    def __init__(self, ridge=1.0, mix=0.5, pause=0.0, fail_above=1.0, seed=0):
        self.ridge, self.mix, self.pause, self.fail_above, self.seed = ridge, mix, pause, fail_above, seed

    def prepare_fit(self, X, y, S, *, space):
        linger("preparation")
        return {"gram": X.T @ X}

    def fit(self, X, y, S, *, statistics=None):
        time.sleep(self.pause + float(os.environ.get("TROUBLE_PAUSE", 0)))
        meet("fixed" if self.mix == 0.3 else "searched")
        linger("final" if len(S) == 10 else "batch")
        if self.mix > self.fail_above:
            raise MethodError(f"mix={self.mix:.3f} is more than this method can take")
        noise = np.random.default_rng(self.seed).normal(scale=0.01, size=(X.shape[1], S.shape[1]))
        gram = X.T @ X + self.ridge * np.eye(X.shape[1])
        self.W_ = np.linalg.solve(gram, X.T @ S[y]) * (1 + self.mix) + noise
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        projected = X @ self.W_
        return projected @ S.T - 0.5 * self.mix * (S**2).sum(axis=1)

    def matrices(self):
        return {"W": self.W_}


class Idle(Plain):
    """Does nothing: what is left is the platform's own cost."""

    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return np.broadcast_to(S[:, 0] * self.mix, (len(X), len(S)))

    def matrices(self):
        return {}


class Trouble(Plain):
    """Misbehaves as its parameter says; ``stuck`` never ends, in compiled code that lets no other thread run."""

    summary = "every kind of trouble"
    random = False
    KINDS = ("nothing", "endless", "stuck", "segfault", "glutton", "undefined", "exits", "raises", "unrecordable")
    parameters = {"trouble": Parameter("what goes wrong", Choice(KINDS), Choice(KINDS))}

    def __init__(self, trouble="nothing"):
        super().__init__()
        self.trouble = trouble

    def fit(self, X, y, S, *, statistics=None):
        if self.trouble == "endless":
            while True:
                time.sleep(0.1)
        if self.trouble == "stuck":
            ctypes.PyDLL(None).pause()
        if self.trouble == "segfault":
            ctypes.string_at(0)
        if self.trouble == "exits":
            os._exit(3)
        if self.trouble == "raises":
            raise ValueError("this goes\nwrong")
        while self.trouble == "glutton":
            self.hoard_ = [*getattr(self, "hoard_", []), np.ones(4_000_000)]
        if self.trouble == "unrecordable":
            self.diagnostics_ = Diagnostics(numbers={"odd": object()})
        return super().fit(X, y, S)

    def decision_function(self, X, S, *, seen=None, statistics=None):
        scores = super().decision_function(X, S)
        return np.full_like(scores, np.nan) if self.trouble == "undefined" else scores


ODD_NAMES = {"path": "../../etc", "empty": "", "dots": "..", "endless": "n" * 300, "newline": "a\nb"}


class Odd(Plain):
    """Says what cannot be shown, recorded or written as it is, or answers in numbers that are none."""

    summary = "odd texts, names and numbers"
    random = False
    TEXTS = {"unprintable": "lone \ud800, \0 and \x1b[31m", "long": "x" * 20_000_000}
    NUMBERS = {"complex": complex, "objects": object, "texts": str}
    NAMED = (f"{name}-{kind}" for kind in "dmf" for name in ODD_NAMES)
    KINDS = ("sound", "own", "unspeakable", "warns", "torn-f", *TEXTS, *NUMBERS, *NAMED)
    parameters = {"odd": Parameter("what is odd", Choice(KINDS), Choice(KINDS))}

    def __init__(self, odd="sound"):
        super().__init__()
        self.odd = odd

    def fit(self, X, y, S, *, statistics=None):
        if self.odd in self.TEXTS:
            raise ValueError(self.TEXTS[self.odd])
        if self.odd == "unspeakable":
            raise Unspeakable
        if self.odd == "warns":
            warnings.warn(self.TEXTS["unprintable"] + "y" * 3_000_000, OutcomeWarning, stacklevel=2)
        if self.odd.endswith("-d"):
            self.diagnostics_ = Diagnostics(numbers={self._name: 1.0})
        return super().fit(X, y, S)

    @property
    def _name(self):
        return ODD_NAMES.get(self.odd.partition("-")[0], "plain")

    def matrices(self):
        return {self._name if self.odd.endswith("-m") else "W": self.W_}

    def figures(self):
        line = [1, 2], [3.0] if self.odd == "torn-f" else [3.0, 4.0]
        return {self._name: Curve({"line": line}, "x", "y", "title")} if self.odd.endswith("-f") else {}

    def decision_function(self, X, S, *, seen=None, statistics=None):
        scores = super().decision_function(X, S)
        if self.odd == "own":
            return np.array(scores).view(Labelled)
        return scores.astype(self.NUMBERS[self.odd]) if self.odd in self.NUMBERS else scores


class Labelled(np.ndarray):
    """An array of the plugin's own kind, which nobody else can load."""


class Unspeakable(Exception):
    """Cannot be shown."""

    def __str__(self):
        raise RuntimeError("nobody can say this")

    __repr__ = __str__


class Stepwise(Plain):
    """Learns in epochs whose gains and losses differ from fold to fold; ``limit`` ends some folds before others."""

    step_parameter = "epochs"
    parameters = {
        **Plain.parameters,
        "epochs": Parameter("passes", Integer(1)),
        "limit": Parameter("most steps where the rows are few; none: no limit", Optional(Integer(1))),
        "swing": Parameter("size of what changes from epoch to epoch", Real(0)),
    }

    def __init__(self, ridge=1.0, mix=0.5, pause=0.0, fail_above=1.0, seed=0, epochs=6, limit=None, swing=0.7):
        super().__init__(ridge=ridge, mix=mix, pause=pause, fail_above=fail_above, seed=seed)
        self.epochs, self.limit, self.swing = epochs, limit, swing

    def fit(self, X, y, S, *, statistics=None):
        for _ in self.fit_steps(X, y, S):
            pass
        return self

    def _fit_steps(self, X, y, S, statistics):
        super().fit(X, y, S)
        W = self.W_
        rows = np.random.default_rng(int(abs(X[0, 0]) * 1e6))
        epochs = min(self.epochs, self.limit) if self.limit and len(S) == 6 else self.epochs
        for step in range(1, epochs + 1):
            self.W_ = W + self.swing * rows.normal(size=W.shape) * np.abs(W).mean()
            yield step


class SlowFinal(Plain):
    """Takes long where it is fitted on all training classes, as a refit is."""

    def fit(self, X, y, S, *, statistics=None):
        time.sleep(self.pause if len(S) == 10 else 0)
        self.W_ = Plain(self.ridge, self.mix, seed=self.seed).fit(X, y, S).W_
        return self


class Warner(Plain):
    """Warns of its outcome where it prepares and where it fits."""

    def prepare_fit(self, X, y, S, *, space):
        warnings.warn("preparation should be looked at", OutcomeWarning, stacklevel=2)
        return super().prepare_fit(X, y, S, space=space)

    def fit(self, X, y, S, *, statistics=None):
        warnings.warn("the fit should be looked at", OutcomeWarning, stacklevel=2)
        return super().fit(X, y, S, statistics=statistics)


class Conditional(Plain):
    """Searches a parameter only where another one, which nobody searches, has its default."""

    parameters = {
        "form": Parameter("form", Choice(("bent", "plain"))),
        "mix": Parameter("share", Real(0, 1), Real(0, 1, when={"form": ("bent",)})),
        "seed": Parameter("seed of the noise", Integer(0)),
    }

    def __init__(self, form="bent", mix=0.5, seed=0):
        super().__init__(mix=mix, seed=seed)
        self.form = form


class Spy(Plain):
    """Looks for test rows in everything that it can reach; its score tells what it found."""

    def fit(self, X, y, S, *, statistics=None):
        super().fit(X, y, S)
        self.look()
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        self.look()
        return super().decision_function(X, S)

    def look(self):
        self.found_ = 0
        arrays = [o for o in gc.get_objects() if isinstance(o, np.ndarray)]
        for module in list(sys.modules.values()):
            arrays += (
                [v for v in vars(module).values() if isinstance(v, np.ndarray)] if hasattr(module, "__dict__") else []
            )
        frame = sys._getframe()
        while frame is not None:
            for value in list(frame.f_locals.values()):
                if isinstance(value, np.ndarray):
                    arrays.append(value)
                for held in (getattr(value, "inputs", None), getattr(value, "truth", None)):
                    arrays += [a for a in (held or {}).values() if isinstance(a, np.ndarray)]
            frame = frame.f_back
        for array in arrays:
            if array.dtype.kind == "f" and np.any(array == SENTINEL):
                self.found_ += 1
        if self.found_:
            raise MethodError(f"found {self.found_} arrays with test data")


class Marked(DataSource):
    """A data set whose test rows and unseen signatures are replaced by a value that is easy to find."""

    summary = "small, with marked test rows"
    parameters = {
        "marked": Parameter("put the mark on test rows and unseen signatures", Optional(Integer(0, 1))),
        "noise_seed": Parameter("replace test rows and unseen signatures by noise of this seed", Optional(Integer(0))),
        "permuted": Parameter("permute the test labels with this seed", Optional(Integer(0))),
        "nan": Parameter("put NaN into a feature", Optional(Integer(0, 1))),
        "overlap": Parameter("let a class be in train and test", Optional(Integer(0, 1))),
        "broken": Parameter("fail with an error of the loader itself", Optional(Integer(0, 1))),
        "one_class_fold": Parameter("give a fold with a single class", Optional(Integer(0, 1))),
        "no_signature": Parameter("leave out the last signature", Optional(Integer(0, 1))),
    }

    def load(self, places):
        linger("loading")
        o = self.options
        rng = np.random.default_rng(7)
        classes, seen, per_class, d, a = 14, 10, 12, 10, 6
        S = rng.normal(size=(classes, a))
        mixing = rng.normal(size=(a, d))
        y = np.repeat(np.arange(classes), per_class)
        X = (S @ mixing)[y] + 0.8 * rng.normal(size=(len(y), d))
        position = np.tile(np.arange(per_class), classes)
        train = np.flatnonzero((y < seen) & (position < 9))
        test_seen = np.flatnonzero((y < seen) & (position >= 9))
        test_unseen = np.flatnonzero(y >= seen)
        hidden = np.concatenate([test_seen, test_unseen])
        if o.get("broken"):
            raise KeyError("features")
        if o.get("marked"):
            X[hidden], S[seen:] = SENTINEL, SENTINEL
        if o.get("noise_seed") is not None:
            noise = np.random.default_rng(o["noise_seed"])
            X[hidden], S[seen:] = noise.normal(size=(len(hidden), d)), noise.normal(size=(classes - seen, a))
        if o.get("permuted") is not None:
            y[test_unseen] = np.random.default_rng(o["permuted"]).permutation(y[test_unseen])
        if o.get("nan"):
            X[3, 2] = np.nan
        if o.get("overlap"):
            train = np.append(train, test_unseen[0])
            test_unseen = test_unseen[1:]
        folds = tuple(
            ClassFold(
                f"fold-{i}", tuple(c for c in range(seen) if c % 3 != i), tuple(c for c in range(seen) if c % 3 == i)
            )
            for i in range(3)
        )
        if o.get("one_class_fold"):
            folds = (ClassFold("fold-0", tuple(range(1, seen)), (0,)),)
        return Dataset(
            name="marked",
            X=X,
            y=y,
            class_names=tuple(f"class {c}" for c in range(classes)),
            signatures={
                "att": SignatureSet(S[:-1], classes=np.arange(classes - 1))
                if o.get("no_signature")
                else SignatureSet(S)
            },
            splits={"train": train, "test_seen": test_seen, "test_unseen": test_unseen},
            folds=folds,
        )


class Rows(DataSource):
    """Labelled rows of five classes, for classification by sample; ``scale`` multiplies the features."""

    parameters = {"scale": Parameter("factor of the features", Real(0, open_low=True))}

    def load(self, places):
        rng = np.random.default_rng(3)
        y = np.arange(150) % 5
        X = rng.normal(size=(5, 8))[y] + 0.5 * rng.normal(size=(150, 8))
        return Dataset("rows", self.options.get("scale", 1.0) * X, y, tuple("abcde"))


@hookimpl
def zslplat_methods():
    return {
        "plain": Plain,
        "idle": Idle,
        "conditional": Conditional,
        "warner": Warner,
        "stepwise": Stepwise,
        "slow-final": SlowFinal,
        "trouble": Trouble,
        "odd": Odd,
        "spy": Spy,
    }


@hookimpl
def zslplat_datasets():
    return {"marked": Marked, "rows": Rows}
