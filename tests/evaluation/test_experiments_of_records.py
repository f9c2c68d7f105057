"""What is read of the experiment of a record, of this version or an earlier one."""

from zslplat.evaluation.experiment import Experiment
from zslplat.spec import Spec


def test_an_experiment_that_says_no_more_than_method_data_and_task_has_the_seed_of_those_days():
    read = Experiment.from_json({"method": "eszsl", "dataset": "AWA2", "task": "zsl"})
    assert read == Experiment(Spec("eszsl"), Spec("AWA2"), Spec("zsl"), {})
    assert (read.seed, read.data, read.split, read.method_seed) == (0, "", "", None)


def test_what_an_experiment_says_of_itself_is_what_is_read_of_it():
    experiment = Experiment(
        Spec.parse("eszsl(gamma=2)"), Spec("AWA2"), Spec("zsl"), {}, "l2", "center", 7, "abc", {}, "test", 9, {"k": 1.5}
    )
    assert Experiment.from_json(experiment.to_json()) == experiment
