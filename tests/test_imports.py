"""What a stranger's module does as it is imported is one line, and harms no other plugin and not the program."""

import importlib
import json
import os
import signal
import sys
from importlib.metadata import EntryPoint

import pytest
from support import install_distribution, run

from zslplat import imports
from zslplat.errors import PluginError

HOOK = "from zslplat.hookspecs import hookimpl\n@hookimpl\ndef zslplat_kernels():\n    "
ENDING = {
    "exits": ("import os\nos._exit(0)", r"ends the program as it is imported (exit code 0)"),
    "crashes": ("import ctypes\nctypes.string_at(0)", "ends the program as it is imported (SIGSEGV)"),
    "aborts": ("import os\nos.abort()", "ends the program as it is imported (SIGABRT)"),
    "kills": ("import os\nos.killpg(0, 9)", "ends the program as it is imported (SIGKILL)"),
    "exits_in_hook": (f"import os\n{HOOK}os._exit(1)", "ends the program as it is imported (exit code 1)"),
    "exits_late": ("import atexit, os\natexit.register(os._exit, 7)", "ends the program at its exit (exit code 7)"),
    "closes_all": ("import os\nos.closerange(0, 99)", "ends the program as it is imported (exit code 1)"),
}
HOLDING = {
    "thread": (
        "import threading\nthreading.Thread(target=threading.Event().wait, name='pump').start()",
        "keeps the program from ending: it starts the thread 'pump', which is no daemon",
    ),
    "exit_handler": (
        "import atexit, time\natexit.register(time.sleep, 99)",
        "keeps the program from ending: it leaves code that never ends",
    ),
    "loops": ("while True:\n    pass", "is not imported within 3 s"),
}
SPOILING = {
    "interrupts": ("raise KeyboardInterrupt", "raises KeyboardInterrupt as it is imported"),
    "interrupts_in_hook": (f"{HOOK}raise KeyboardInterrupt", "raises KeyboardInterrupt as it is imported"),
    "forks": ("import os\nos.fork()", "forks as it is imported, and the copy goes on as this program"),
    "closes": ("import os\nos.close(1)", "closes standard input, output or error"),
    "alarm": ("import signal\nsignal.alarm(9)", "sets an alarm, which would end the program"),
}
NOISE = (
    "import ctypes, os, sys\nprint('NOISE')\nos.write(1, b'NOISE')\nos.system('echo NOISE')\n"
    "sys.__stdout__.write('NOISE')\nctypes.CDLL(None).puts(b'NOISE')\n"
)
KERNEL = f"{HOOK}return {{'mine': 'zslplat.kernels.forms:Gaussian'}}\n"


@pytest.fixture
def point(tmp_path, monkeypatch):
    """Return what makes an entry point of a module ``made``; nothing is known of any module, and limits are short."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(imports.VARIABLE, raising=False)
    monkeypatch.setattr(imports, "IMPORT_SECONDS", 20.0)
    monkeypatch.setattr(imports, "EXIT_SECONDS", 2.0)

    def make(source):
        (tmp_path / "made.py").write_text(source)
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "made", raising=False)
        return EntryPoint("made", "made", "zslplat")

    return make


@pytest.mark.parametrize(("source", "harm"), [*ENDING.values(), *SPOILING.values(), *HOLDING.values()])
def test_harm_is_noticed_from_outside_and_nothing_is_imported(source, harm, point, monkeypatch):
    if "within 3 s" in harm:
        monkeypatch.setattr(imports, "IMPORT_SECONDS", 3.0)
    with pytest.raises(PluginError) as raised:
        imports.load(point(source))
    assert str(raised.value) == f"module made {harm}"
    assert "made" not in sys.modules


def test_what_a_module_raises_is_raised(point):
    for source, error in (("raise SystemExit(3)", SystemExit), ("input('?')", EOFError), ("1 / 0", ZeroDivisionError)):
        with pytest.raises(error):
            imports.load(point(source))


def test_a_harmless_module_is_tried_once_until_a_file_that_it_imports_changes(point, monkeypatch, tmp_path):
    tried, answer = [], imports._tried
    monkeypatch.setattr(imports, "_tried", lambda *arguments: tried.append(1) or answer(*arguments))

    def load_again():
        monkeypatch.delenv(imports.VARIABLE, raising=False)
        monkeypatch.delitem(sys.modules, "helper", raising=False)
        return imports.load(point("import helper\n"))

    unused = tmp_path / "cache" / "zslplat" / "imports" / "unused.json"
    unused.parent.mkdir(parents=True)
    unused.touch()
    os.utime(unused, (0, 0))
    (tmp_path / "helper.py").write_text("x = 1\n")
    assert load_again().helper.x == 1
    assert not unused.exists()
    content = (tmp_path / "made.py").stat()
    for _ in range(2):
        point("import helper\n")
        os.utime(tmp_path / "made.py", ns=(content.st_atime_ns, content.st_mtime_ns))
        monkeypatch.delenv(imports.VARIABLE, raising=False)
        assert imports.harm_of(EntryPoint("made", "made", "zslplat")) == ""
    assert len(tried) == 1
    (tmp_path / "helper.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.delenv(imports.VARIABLE)
    assert "exit code 3" in imports.harm_of(EntryPoint("made", "made", "zslplat"))
    # Processes that this one starts know it from the environment.
    assert "exit code 3" in imports.harm_of(EntryPoint("made", "made", "zslplat"))
    assert len(tried) == 2


def test_the_program_is_as_it_was_after_an_import(point, capfd, monkeypatch):
    monkeypatch.setenv("SOME_NAME", "mine")
    before = os.getcwd(), sys.stdout, sys.excepthook, signal.getsignal(signal.SIGTERM)
    imports.load(
        point(
            f"{NOISE}import io, signal\nos.chdir('/')\nsys.stdout = io.StringIO()\nsys.excepthook = None\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.environ.pop('SOME_NAME')\n"
            "os.environ.update(ZSLPLAT_STORE='/nowhere', OF_A_LIBRARY='1')\n"
        )
    )
    assert (os.getcwd(), sys.stdout, sys.excepthook, signal.getsignal(signal.SIGTERM)) == before
    assert os.environ["SOME_NAME"] == "mine"
    assert "ZSLPLAT_STORE" not in os.environ
    assert os.environ.pop("OF_A_LIBRARY") == "1"
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("NOISE") == 5


def test_a_command_names_each_harmful_plugin_in_one_line_and_goes_on_with_the_others(tmp_path):
    folder = tmp_path / "plugins"
    harmful = {**ENDING, "interrupts": SPOILING["interrupts"]}
    for name, (source, _) in harmful.items():
        install_distribution(folder, f"zslplat-{name}", f"made_{name}", source)
    install_distribution(folder, "zslplat-sound", "made_sound", NOISE + KERNEL)
    done = run(("zslplat", "list", "kernels", "--json"), str(folder), tmp_path)
    assert done.returncode == 1, done.stderr
    content = json.loads(done.stdout)
    assert "mine" in [one["name"] for one in content["components"]]
    plugins = json.loads(run(("zslplat", "plugins", "list", "--json"), str(folder), tmp_path).stdout)
    states = {one["distribution"]: one["state"] for one in plugins if one["state"] != "loaded"}
    assert states == {f"zslplat-{name}": f"broken: module made_{name} {harm}" for name, (_, harm) in harmful.items()}


def test_a_command_and_a_component_that_end_the_program_are_one_line(tmp_path):
    folder = tmp_path / "plugins"
    install_distribution(folder, "zslplat-a", "made_a", f"{HOOK}return {{'mine': 'made_b:B'}}\n")
    install_distribution(folder, "zslplat-b", "made_b", "import os\nos._exit(0)\n", group="zslplat.commands")
    for arguments, what in ((("show", "mine"), "kernel 'mine' of zslplat-a"), (("made_b",), "command 'made_b' of")):
        done = run(("zslplat", *arguments), str(folder), tmp_path)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"error: {what}")
        assert "module made_b ends the program as it is imported (exit code 0)" in line
