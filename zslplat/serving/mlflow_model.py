"""A model of a run as an MLflow model: "models from code", arrays and JSON; no pickle, and nothing of the store."""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.atomic_files import draft
from zslplat.errors import StoreError, UsageError
from zslplat.models.folder import MODEL
from zslplat.models.predictions import PARAMETERS
from zslplat.serving.runs import find_model
from zslplat.settings import Settings

# All that an export holds of Python; MLflow runs it when it loads the model.
CODE = '''"""Loads the model beside this file; written by `zslplat export`."""

from pathlib import Path

from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.pyfunc import PythonModel

from zslplat.errors import ZslplatError
from zslplat.models.predictions import Served


class Model(PythonModel):
    _skip_type_hint_validation = True  # the model checks rows itself

    def load_context(self, context):
        self.served = Served(Path(context.artifacts["model"]))

    def predict(self, context, model_input, params=None):
        try:
            return self.served.predict(model_input, params)
        except ZslplatError as error:
            raise MlflowException(str(error), error_code=INVALID_PARAMETER_VALUE) from error


set_model(Model())
'''
EXAMPLE_ROWS = 2
_DRAFT = ".zslplat-export-"  # an export may lie among files that are not zslplat's


@dataclass(frozen=True)
class Exported:
    """The folder of an MLflow model, the bytes in it, its run and study (empty for a folder's), and a line on these."""

    folder: Path
    bytes: int
    run: str
    study: str
    line: str


def export_model(settings: Settings, source: str, target: Path) -> Exported:
    """Write the model of a run, or of a folder, as an MLflow model into a new folder, whole or not at all.

    It has a signature, an input example and requirements, and needs no store. Raises :class:`UsageError` where the
    folder exists, :class:`StoreError` for a run without a model and where the folder cannot be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; remove it, or give another folder with --to")
    origin = find_model(source, settings)
    model = origin.load()
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with draft(target.absolute().parent, _DRAFT) as place:
            shutil.copytree(origin.folder, place / MODEL)
            _save(place, model)
            os.chmod(place / "mlflow", 0o755)
            if target.exists():
                target.rmdir()
            os.rename(place / "mlflow", target)
    except OSError as error:
        raise StoreError(
            f"cannot write {target}: {error.strerror or error}; free space, or choose another --to"
        ) from error
    return Exported(
        target,
        sum(f.stat().st_size for f in target.rglob("*") if f.is_file()),
        origin.run,
        origin.study,
        origin.line(model),
    )


def signature_of_requests() -> Any:
    """Return MLflow's signature of a model: the parameters of a request.

    It says nothing of rows, whose type MLflow would insist on: float32 where float64 is given. The model checks them.
    """
    from mlflow.models import ModelSignature
    from mlflow.types import DataType, ParamSchema, ParamSpec

    kinds: Mapping[str, tuple[DataType, tuple[int, ...] | None]] = {
        "classes": (DataType.string, (-1,)),
        "signatures": (DataType.double, (-1,)),
        "generalised": (DataType.boolean, None),
        "top": (DataType.long, None),
        "scores": (DataType.boolean, None),
    }
    params = [ParamSpec(name, kinds[name][0], default, kinds[name][1]) for name, default in PARAMETERS.items()]
    return ModelSignature(params=ParamSchema(params))


def requirements(model: Any) -> list[str]:
    """Return what must be installed where the model is served, each with the version that is here."""
    from zslplat import registry

    packages = {"zslplat", "mlflow", "numpy", "pandas"}
    root = registry.component("methods", model.method_name).__module__.partition(".")[0]
    if root != "zslplat":
        packages |= set(metadata.packages_distributions().get(root, []))
    pinned = []
    for name in sorted(packages):
        try:
            # The models are served by the whole of MLflow, whose part that logs is enough to save them.
            pinned.append(f"{name}=={metadata.version('mlflow-skinny' if name == 'mlflow' else name)}")
        except metadata.PackageNotFoundError:
            pinned.append(name)
    return pinned


def _save(place: Path, model: Any) -> None:
    import mlflow.pyfunc

    code = place / "zslplat_model.py"
    code.write_text(CODE)
    example = np.random.default_rng(0).random((EXAMPLE_ROWS, model.width))
    description = model.describe()
    with _quiet():
        mlflow.pyfunc.save_model(
            str(place / "mlflow"),
            python_model=str(code),
            artifacts={MODEL: str(place / MODEL)},
            signature=signature_of_requests(),
            input_example=(example, {name: value for name, value in PARAMETERS.items() if value != []}),
            pip_requirements=requirements(model),
            metadata={name: description[name] for name in ("method", "kind", "task", "dataset", "digest")},
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep MLflow from telling what it does on the way: bars of progress for local copies, and advice."""
    from mlflow.environment_variables import MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR as bars

    logger = logging.getLogger("mlflow")
    level, shown = logger.level, bars.get_raw()
    logger.setLevel(logging.ERROR)
    bars.set(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
        bars.unset() if shown is None else bars.set(shown)
