"""The tutorial in Python is carried out as the notebook that readers download."""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.mark.long
def test_the_tutorial_in_python_runs_as_a_notebook(monkeypatch, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    gallery = pytest.importorskip("sphinx_gallery")
    import nbformat
    from sphinx_gallery import gen_gallery, notebook, py_source_parser

    assert gallery
    path = EXAMPLES / "09_from_python.py"
    _, blocks = py_source_parser.split_code_and_text_blocks(str(path))
    settings = {**gen_gallery.DEFAULT_GALLERY_CONF, "examples_dirs": [str(EXAMPLES)], "notebook_images": False}
    text = json.dumps(notebook.jupyter_notebook(blocks, settings, str(EXAMPLES))).replace("quiet=True", "trials=2")
    book = nbformat.reads(text.replace("trials=6, ", ""), as_version=4)
    for variable in ("HOME", "XDG_CONFIG_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    nbclient.NotebookClient(book, timeout=800, resources={"metadata": {"path": str(tmp_path)}}).execute()

    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "text/html" in kinds
    # Progress is a display that is gone at the end, and nothing warns of what a reader cannot mend.
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    assert "IProgress" not in printed
    study, pipeline = printed.rsplit("study ", 1)[1].strip().split(", pipeline ")
    assert study == pipeline
