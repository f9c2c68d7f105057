"""Features of images and signatures of class names: encoders of other libraries, and ``zslplat encode``."""

from zslplat.hookspecs import hookimpl

ZSLPLAT_API = "1.0"


@hookimpl
def zslplat_encoders() -> dict[str, str]:
    """Return the encoders; each imports its library when it is opened."""
    return {
        "bert": "zslplat_encoders.bert:Bert",
        "colours": "zslplat_encoders.handcrafted:Colours",
        "hog": "zslplat_encoders.handcrafted:Hog",
        "minilm": "zslplat_encoders.bert:MiniLM",
        "onnx": "zslplat_encoders.onnx_model:OnnxModel",
        "open-clip": "zslplat_encoders.torch_models:OpenClip",
        "sentence-transformers": "zslplat_encoders.torch_models:SentenceEncoder",
        "timm": "zslplat_encoders.torch_models:Timm",
        "torchvision": "zslplat_encoders.torch_models:Torchvision",
        "transformers": "zslplat_encoders.torch_models:Transformers",
        "word-vectors": "zslplat_encoders.word_vectors:WordVectors",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """Return the loader of features that torch saved."""
    return {"torch": "zslplat_encoders.torch_files:TorchSource"}
