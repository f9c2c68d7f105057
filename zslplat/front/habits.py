"""What people from Optuna, scikit-learn, PyKEEN and MLflow write first, and what it is called here."""

from __future__ import annotations

from collections.abc import Iterable

from zslplat.errors import near_names

_ARGUMENTS = {
    "trials": ("n_trials", "n_iter", "n_calls", "max_evals"),
    "dataset": ("data", "datasets", "data_set"),
    "workers": ("n_jobs", "num_workers", "n_workers", "jobs"),
    "seed": ("random_state", "random_seed", "rng"),
    "set": ("params", "parameters", "hyperparameters", "method_kwargs", "model_kwargs", "fixed"),
    "space": ("param_grid", "param_distributions", "param_space", "search_space", "ranges", "grid"),
    "method": ("model", "estimator", "algorithm", "methods"),
    "study": ("study_name", "name"),
    "storage_url": ("storage",),
    "store": ("storage", "output", "output_dir", "directory"),
    "task": ("protocol", "setting", "mode"),
    "metric": ("scoring", "metrics", "objective"),
    "repeats": ("n_repeats", "n_seeds", "replications"),
    "quiet": ("silent",),
    "tag": ("tags", "user_attrs"),
    "timeout": ("time_limit", "max_time", "budget"),
    "data_root": ("root", "data_dir", "data_path"),
    "features": ("preprocessing", "scaler"),
}
# For these only a hint is given: elsewhere the name means something else, or takes other values.
_ANSWERED_ONLY = ("set", "space", "repeats", "features", "timeout")
_FOLDS = ("cv", "folds", "n_folds", "n_splits")
_ATTRIBUTES = {
    "best_params": ("best_params_", "best", "best_parameters", "best_hyperparameters"),
    "best_value": ("best_score_", "best_score", "value"),
    "test_value": ("test_score", "value", "score"),
    "best_trial": ("best_index_", "winner"),
    "to_frame()": ("trials_dataframe", "cv_results_", "results", "dataframe", "to_df", "df", "to_pandas", "table"),
    "params": ("best", "best_params", "parameters"),
    "make()": ("best_estimator_", "best_estimator", "estimator", "pipeline"),
    "make().fit(X, y, S)": ("fit",),
    "name": ("study_name",),
    "plot()": ("visualize", "plot_losses", "plot_optimization_history", "draw", "show"),
    "zslplat.tune(..., trials=N), which continues the study": ("optimize", "enqueue_trial", "ask", "tell"),
    "zslplat.load_model(study)": ("model", "best_model", "load_model"),
    "zslplat.load_model(study).predict(X)": ("predict",),
}
_FOR_STUDIES = ("make()", "zslplat.")


def same_argument(name: str, options: Iterable[str]) -> str:
    """Return what an argument of another library is called here, where it means the same; else nothing."""
    matches = [ours for ours, theirs in _ARGUMENTS.items() if name in theirs and ours in options]
    return matches[0] if len(matches) == 1 and matches[0] not in _ANSWERED_ONLY else ""


def argument_hint(name: str, options: Iterable[str]) -> str:
    """Return what an argument of another library is called here; empty where nothing fits."""
    if name in _FOLDS and "task" in options:
        return "the number of validation folds is an option of the task, as zsl(folds=5)"
    matches = [ours for ours, theirs in _ARGUMENTS.items() if name in theirs and ours in options]
    return f"here it is called {' or '.join(matches)}" if matches else ""


def attribute_hint(name: str, attributes: Iterable[str], *, study: bool) -> str:
    """Return what an attribute is called here, by the habits of other libraries, or by its spelling."""
    names = [one for one in attributes if not one.startswith("_")]
    matches = [
        ours
        for ours, theirs in _ATTRIBUTES.items()
        if name in theirs and (ours.split("(")[0] in names or (study and ours.startswith(_FOR_STUDIES)))
    ]
    if matches:
        return f"write {' or '.join(matches)}"
    near = near_names(name, names)
    return f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names)}"
