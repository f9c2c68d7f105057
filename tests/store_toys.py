"""Stores whose records are written down, for tests of what reads them: no method is run for any number in them."""

from __future__ import annotations

import time

import numpy as np

from zslplat.evaluation.scoring.outcomes import write_outcomes
from zslplat.keys import key_of, run_identifier
from zslplat.records.database import Records
from zslplat.records.studies import STUDY
from zslplat.records.trials import FinishedTrial
from zslplat.space import Real
from zslplat.spec import Spec
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns

CLASSES, ROWS = 12, 15  # of each class
DATA = "a" * 64
CODE = {"method": "m1", "task": "t1", "data": "d1", "scoring": "s1", "numpy": "2"}
NOTHING, BOTH = "nothing", "transductive, class balance"


class MadeStore:
    """Writes studies and single runs of task ``zsl`` into a store; every one is a second newer than the last."""

    def __init__(self, settings):
        self.settings, self.records, self.now = settings, Records(settings), time.time() - 1e6

    def study(self, method, share, *, trials=3, name=None, dataset="made", seed=0, **more):
        """Record a study whose winner gets about this share of the test rows right; return its name."""
        space = more.get("space", {"alpha": "0.001..1000:log"} if "alpha" not in method else {})
        asked = {
            **{"method": str(Spec.parse(method)), "dataset": dataset, "task": more.get("task", "zsl"), "space": space},
            **{"features": None, "signatures": None, "seed": seed, "batch_size": 4, "sampler": "tpe"},
            "data": more.get("data", DATA),
        }
        name = name or f"{Spec.parse(method).name}@{dataset}-zsl-{key_of(asked, self.now)[:8]}"
        study = self.records.open_study(name, asked, [True])
        origin = study.recall("origin", str)
        for number in range(trials):
            value = more.get("validation", share) - 0.01 * number
            parameters = {"alpha": 1.0 + number} if space else {}
            record = self._record(value, more) | {
                **{"number": number, "parameters": parameters, "reason": None, "started": self.now},
                **{
                    "ended": self.now + 2,
                    "seconds": 2.0,
                    "run": run_identifier(origin, STUDY + name, f"trial-{number}"),
                },
            }
            searched = {"alpha": Real(1e-3, 1e3, log=True)} if space else {}
            study.add(FinishedTrial(number, "complete", parameters, value), record, searched)
        study.note("about", self._about(asked, more))
        study.note("finished", {"winner": 0, "complete": True, "code": more.get("mark", "")})
        winner = Spec.parse(method).with_parameters({"alpha": 1.0} if space else {})
        for repeat in range(more.get("repeats", 1)):
            key = f"trial-0/repeat-{repeat}"
            run = run_identifier(origin, STUDY + name, key)
            content = self._tested(winner, asked, share, repeat, run, more) | {"winner": 0}
            self.records.add_evaluation(STUDY + name, key, "test", asked["data"], content)
        return name

    def earlier_winner(self, name, share, *, repeats=1, **more):
        """Record test evaluations of a trial that was a study's best before the study was extended."""
        study = self.records.study(name)
        asked, origin = study.values()["identity"], study.recall("origin", str)
        winner = Spec.parse(asked["method"]).with_parameters({"alpha": 2.0})
        for repeat in range(repeats):
            key = f"trial-1/repeat-{repeat}"
            run = run_identifier(origin, STUDY + name, key)
            content = self._tested(winner, asked, share, repeat, run, more) | {"winner": 1}
            self.records.add_evaluation(STUDY + name, key, "test", asked["data"], content)

    def run(self, method, share, *, dataset="made", seed=0, **more):
        """Record a single run on the test split; return its identifier."""
        asked = {
            **{"method": str(Spec.parse(method)), "dataset": dataset, "task": more.get("task", "zsl")},
            **{"features": None, "signatures": None, "seed": seed, "data": more.get("data", DATA)},
        }
        owner = f"run:{key_of(asked, self.now)}"
        run = run_identifier("", owner, "repeat-0")
        content = self._tested(Spec.parse(method), asked, share, 0, run, more) | {"about": self._about(asked, more)}
        self.records.add_evaluation(owner, "repeat-0", "test", asked["data"], content)
        return run

    def _about(self, asked, more):
        part_of = {"part_of": more["part_of"]} if "part_of" in more else {}
        return {
            "mlflow_experiment": more.get("mlflow_experiment", "zsl: made"),
            "primary": {
                "name": more.get("metric", "per_class_accuracy"),
                "maximise": more.get("maximise", True),
            },
            **part_of,
        }

    def _record(self, value, more):
        metrics = dict.fromkeys(_metrics(more), value)
        return {"state": "complete", "value": value, "metrics": metrics, "folds": [], "steps": {}, "carry": {}}

    def _tested(self, method, asked, share, repeat, run, more):
        """Write the outcomes of a test evaluation: each class has a share of its own that is got right."""
        self.now += 1
        rows = more.get("rows", "made rows")
        y = np.repeat(np.arange(CLASSES), ROWS)
        rng = np.random.default_rng([7, repeat, int(1e6 * share)])
        of_class = np.clip(share + 0.1 * np.random.default_rng(5).normal(size=CLASSES), 0.02, 0.98)
        predicted = np.where(rng.random(len(y)) < of_class[y], y, (y + 1) % CLASSES)
        outcomes = RowOutcomes(
            common_columns(np.arange(len(y)), y, predicted, np.ones(len(y)), more.get("group")),
            {"classes": [f"{more.get('classes', 'c')}{i}" for i in range(CLASSES)]},
        )
        digest = write_outcomes(self.records.evaluation_folder(run), outcomes)
        right = float(np.mean(predicted == y))
        carried = {} if "steps" not in more else {"best_step": more["steps"]}
        experiment = {name: value for name, value in asked.items() if name not in ("space", "batch_size", "sampler")}
        experiment |= {
            "method": str(method),
            "split": "test",
            "method_seed": asked["seed"] + repeat,
            "carried": carried,
        }
        fold = {"name": "test", "metrics": dict.fromkeys(_metrics(more), right), "numbers": more.get("numbers", {})}
        return self._record(right, more) | {
            "folds": [{**fold, "rows": rows, "outcomes": digest}],
            **{"seconds": 1.5, "cpu_seconds": 1.0, "peak_bytes": 2.0e8, "run": run, "repeat": repeat, "warnings": []},
            **{"experiment": experiment, "question": key_of(experiment), "code": {**CODE, **more.get("code", {})}},
            **{"knows": more.get("knows", NOTHING), "seed": experiment["method_seed"], "created": self.now},
            **({"outside": more["outside"]} if "outside" in more else {}),
        }


def _metrics(more):
    """The metrics of a record: of ``metric`` alone where one is given."""
    return [more["metric"]] if "metric" in more else ["per_class_accuracy", "per_sample_accuracy"]
