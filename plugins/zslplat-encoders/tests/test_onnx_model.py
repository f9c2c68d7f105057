"""Models in ONNX files. ``small.onnx`` is a convolution of drawn weights, a rectifier and a mean over places.

Its weights are the first that ``numpy.random.default_rng(0)`` draws of a normal distribution: (4, 3, 3, 3), then (4,).
``tokens.onnx`` hands on the pixels as tokens (n, h * w, 3), and as ``flat`` (n * h * w * 3).
"""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.signal import correlate

from zslplat.errors import DataError, MissingDataError, UsageError
from zslplat.testing import parametrize_with_checks
from zslplat_encoders.onnx_model import OnnxModel, middle_square

FILE = Path(__file__).parent / "small.onnx"
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: zslplat-encoders[onnx]")


@parametrize_with_checks([OnnxModel(weights=str(FILE), size=16), OnnxModel(weights=str(FILE), size=9, output="r")])
def test_promises_are_kept(component, check):
    check(component)


def test_features_are_what_the_model_computes():
    rng = np.random.default_rng(0)
    weights, bias = rng.normal(size=(4, 3, 3, 3)).astype(np.float32), rng.normal(size=4).astype(np.float32)
    image = np.random.default_rng(1).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    pixels = (image / 255 - 0.5) / 0.25
    padded = np.pad(pixels, ((1, 1), (1, 1), (0, 0))).transpose(2, 0, 1)
    expected = [np.maximum(correlate(padded, w, "valid")[0] + b, 0).mean() for w, b in zip(weights, bias, strict=True)]
    for threads in (1, 2):
        encoder = OnnxModel(weights=str(FILE), size=12, mean=0.5, std=0.25)
        encoder.threads = threads
        encoder.open()
        np.testing.assert_allclose(encoder.encode_images([image])[0], expected, rtol=1e-5)


def test_tokens_are_averaged_and_what_is_no_row_of_an_image_is_refused():
    image = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    file = str(FILE.with_name("tokens.onnx"))
    encoder = OnnxModel(weights=file, size=8, mean=0.0, std=1.0)
    encoder.open()
    np.testing.assert_allclose(encoder.encode_images([image, image])[1], image.mean(axis=(0, 1)) / 255, rtol=1e-5)
    flat = OnnxModel(weights=file, size=8, output="flat")
    flat.open()
    with pytest.raises(DataError, match=r"output flat is \(192,\); expected rows .*output="):
        flat.encode_images([image])


def test_the_middle_square_of_an_image_is_scaled():
    image = np.zeros((10, 30, 3), np.uint8)
    image[:, 10:20] = 255
    assert middle_square(image, 10).min() == 255
    assert middle_square(np.asarray(Image.new("RGB", (1, 1), "red")), 4).shape == (4, 4, 3)


def test_files_that_are_no_image_model_are_refused_in_one_line(tmp_path):
    (tmp_path / "broken.onnx").write_bytes(FILE.read_bytes()[:100])
    with pytest.raises(DataError, match="cannot be read as an ONNX model"):
        OnnxModel(weights=str(tmp_path / "broken.onnx")).open()
    with pytest.raises(MissingDataError, match="no file"):
        OnnxModel(weights=str(tmp_path / "none.onnx")).open()
    with pytest.raises(UsageError, match="has no output 'logits'; outputs: features, r"):
        OnnxModel(weights=str(FILE), output="logits").open()
    with pytest.raises(UsageError, match=r"std=0.1\+0.2; expected one number or three"):
        OnnxModel(weights=str(FILE), std="0.1+0.2").open()


def test_the_digest_is_that_of_the_file(tmp_path):
    shutil.copy(FILE, tmp_path / "other.onnx")
    one, other = OnnxModel(weights=str(FILE)).open(), OnnxModel(weights=str(tmp_path / "other.onnx")).open()
    assert (one.weights_sha256, one.weights) == (other.weights_sha256, "small.onnx")
    with (tmp_path / "other.onnx").open("ab") as file:
        file.write(b"\x72\x00")  # an empty field of the model
    assert OnnxModel(weights=str(tmp_path / "other.onnx")).open().weights_sha256 != one.weights_sha256
