"""What is read of the setting of a record, of this version or an earlier one."""

from zslplat.evaluation.setting import Setting
from zslplat.spec import Spec


def test_a_setting_that_says_no_more_than_method_data_and_task_has_the_seed_of_those_days():
    read = Setting.from_json({"method": "eszsl", "dataset": "AWA2", "task": "zsl"})
    assert read == Setting(Spec("eszsl"), Spec("AWA2"), Spec("zsl"), {})
    assert (read.seed, read.data, read.split, read.method_seed) == (0, "", "", None)


def test_what_a_setting_says_of_itself_is_what_is_read_of_it():
    setting = Setting(
        Spec.parse("eszsl(gamma=2)"), Spec("AWA2"), Spec("zsl"), {}, "l2", "center", 7, "abc", {}, "test", 9, {"k": 1.5}
    )
    assert Setting.from_json(setting.to_json()) == setting
