"""``plugins new`` and ``plugins check`` from the command line, and the arc-cosine package as a stranger's plugin."""

import json
import os
from pathlib import Path

import pytest
from json_documents import checked
from support import lay_out, run

ARCCOS = Path(__file__).parents[2] / "plugins" / "zslplat-arccos"
PROMISE_BREAKER = '''
from zslplat.api import RadialKernel, hookimpl
import numpy as np


class Breaker(RadialKernel):
    """Not positive semidefinite, whatever it says."""

    summary = "breaks its promise"

    def g(self, d):
        return np.exp(-d * d)

    def slope(self, d):
        return -2 * d * np.exp(-d * d)


@hookimpl
def zslplat_kernels():
    return {"breaker": Breaker}
'''
needs_arccos = pytest.mark.skipif(not ARCCOS.is_dir(), reason="the folder plugins is not beside the tests")


@pytest.fixture(scope="module")
def arccos(tmp_path_factory):
    return lay_out(ARCCOS, tmp_path_factory.mktemp("arccos"))


@pytest.fixture(scope="module")
def breaker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("breaker")
    (folder / "zslplat_breaker.py").write_text(PROMISE_BREAKER)
    info = folder / "zslplat_breaker-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zslplat-breaker\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text("[zslplat]\nbreaker = zslplat_breaker\n")
    return str(folder)


def test_new_writes_a_package_and_says_what_to_do_next(call, tmp_path):
    done = call("plugins", "new", "kernel", "foo")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "zslplat-foo" / "zslplat_foo" / "foo.py").is_file()
    assert 'next: pip install "./zslplat-foo[test]" && python -m pytest ./zslplat-foo' in done.stdout


def test_new_writes_into_a_folder_of_choice(call, tmp_path):
    done = call("plugins", "new", "zero-shot", "my-ridge", "--directory", tmp_path / "here")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here" / "pyproject.toml").is_file()


def test_new_refuses_a_wrong_request_in_one_line(call):
    for arguments, message in (
        (("kernel", "gaussian"), "exists already"),
        (("colour", "foo"), "unknown form of plugin"),
        (("command", "tune"), "command 'tune' exists already"),
    ):
        done = call("plugins", "new", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.long
def test_check_of_a_plugin_that_keeps_its_promises_succeeds(forked, arccos):
    done = forked("plugins", "check", "zslplat_arccos", PYTHONPATH=arccos)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "23 checks, none failed" in done.stdout
    assert "kernel arc-cosine" in done.stdout


def test_check_of_a_plugin_that_breaks_one_fails_and_names_it(forked, breaker):
    done = forked("plugins", "check", "zslplat-breaker", "--json", PYTHONPATH=breaker)
    assert done.returncode == 1
    report = checked("plugins check", done.stdout)
    failed = {row["check"]: row["cause"] for row in report["results"] if row["failure"]}
    assert list(failed) == ["gram_is_positive_semidefinite_as_declared"]
    assert report["failures"] == 1
    assert "eigenvalue" in failed["gram_is_positive_semidefinite_as_declared"]
    table = forked("plugins", "check", "zslplat-breaker", PYTHONPATH=breaker)
    assert table.returncode == 1
    assert f"1 of {report['checks']} checks failed" in table.stdout


def test_check_of_an_unknown_distribution_lists_near_ones(forked, breaker):
    done = forked("plugins", "check", "zslplat-braker", PYTHONPATH=breaker)
    assert done.returncode == 2
    assert "did you mean zslplat-breaker" in done.stderr


def test_check_of_a_broken_plugin_names_the_cause(forked, tmp_path):
    info = tmp_path / "site" / "zslplat_gone-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zslplat-gone\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[zslplat]\ngone = zslplat_gone\n")
    done = forked("plugins", "check", "zslplat-gone", PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
@needs_arccos
def test_arc_cosine_package_passes_its_own_tests(arccos, tmp_path):
    done = run(["pytest", "-q", "-p", "no:cacheprovider", ARCCOS], arccos, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@needs_arccos
def test_arc_cosine_kernel_is_there_when_installed_and_gone_afterwards(program, arccos):
    with_it = program("list", "kernels", PYTHONPATH=arccos)
    assert "arc-cosine" in with_it.stdout
    assert "zslplat-arccos 0.1.0" in with_it.stdout
    without = program("list", "kernels", PYTHONPATH="")
    assert "arc-cosine" not in without.stdout
    assert "gaussian" in without.stdout
    assert without.returncode == 0


@pytest.mark.long
@needs_arccos
@pytest.mark.parametrize("method", ["zskl-ort", "keszsl"])
def test_kernel_methods_are_tuned_with_the_arc_cosine_kernel(method, forked, arccos, tmp_path):
    data = (
        "synthetic(rows_train=120,rows_test_seen=24,rows_test_unseen=24,dimensions=8,classes_seen=12,classes_unseen=4)"
    )
    arguments = ["tune", "--method", method, "--kernel", "arc-cosine", "--dataset", data]
    arguments += ["--trials", 4, "--workers", 1, "--repeats", 1, "--json", "--store", "store"]
    done = forked(*arguments, PYTHONPATH=arccos, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["parameters"]["kernel.degree"] in (0, 1, 2)
    assert "arc-cosine" in (tmp_path / "store" / "studies" / result["name"] / "best.toml").read_text()


@pytest.mark.long
@needs_arccos
def test_arc_cosine_kernel_is_read_inside_expressions(arccos, tmp_path):
    code = "from zslplat.kernels import parse_kernel; print(parse_kernel('0.5*arc-cosine(degree=2) + gaussian').space)"
    (tmp_path / "read_it.py").write_text(code)
    done = run(["read_it"], os.pathsep.join([arccos, str(tmp_path)]), tmp_path)
    assert "arc-cosine.degree" in done.stdout, done.stderr
