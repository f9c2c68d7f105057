"""Encoders of libraries that stand on torch: torchvision, timm, open_clip, sentence-transformers and transformers.

Weights come from a file or folder, or from the library's own cache; they are fetched with ``download`` alone. Their
digest is that of the tensors, whichever file they came in.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from zslplat.data.feature_card import EncoderFacts
from zslplat.errors import MissingDataError, UnknownNameError, UsageError, ZslplatError
from zslplat.space import Text, parameter
from zslplat_encoders.encoder import IMAGES, TEXTS, Encoder, pretraining_of
from zslplat_encoders.libraries import load_library, versions_of


class _TorchEncoder(Encoder):
    """What all share: a module of torch in evaluation mode, on one device."""

    licence = "that of the weights"
    bytes_per_image = 1 << 25
    device = parameter("device of torch, such as cpu or cuda", Text(), default="cpu")
    _extra: str

    def open(self, *, download: bool = False) -> EncoderFacts:
        """Load the model and return what the card says; raises for a missing library or missing weights."""
        if not download:  # read where the hub's library is imported
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        self._torch: Any = load_library("torch", self._extra)
        self._torch.set_num_threads(self.threads)
        with _weights(type(self).__name__, self._extra, download):
            model, name, weights, preprocessing = self._load(download)
        self._model = model.to(self.device).eval()
        return EncoderFacts(
            encoder=name,
            weights=weights,
            weights_sha256=digest_of_tensors(self._model),
            preprocessing=" ".join(str(preprocessing).split()),
            packages=versions_of(self._distribution, "torch", "pillow"),
            pretraining=pretraining_of(weights) if IMAGES in self.encodes else "",
        )

    _distribution: str

    def _load(self, download: bool) -> tuple[Any, str, str, Any]:
        """Return the model, what it is called, what its weights are called, and how images are prepared for it."""
        raise NotImplementedError

    def _rows(self, call: Callable[..., Any], *tensors: Any, **named: Any) -> np.ndarray:
        """Return what the model makes of tensors as rows (n, d), float32, on the CPU."""
        with self._torch.inference_mode():
            rows = call(*(one.to(self.device) for one in tensors), **named)
        return np.asarray(rows.float().cpu().numpy().reshape(len(rows), -1), dtype=np.float32)

    def _stack(self, images: Sequence[np.ndarray], transform: Callable[[Any], Any]) -> Any:
        return self._torch.stack([transform(Image.fromarray(image)) for image in images])


class Torchvision(_TorchEncoder):
    """A classifier of torchvision, before its last linear layer.

    ``weights``: the name of published ones, or a file of a state dictionary (.pth).
    """

    summary = "image features of a torchvision model"
    citation = "torchvision: PyTorch's computer vision library, 2016"
    encodes = (IMAGES,)
    model = parameter("model of torchvision", Text(), default="resnet101")
    weights = parameter("published weights, or a .pth file", Text(), default="IMAGENET1K_V2")
    _extra = _distribution = "torchvision"

    def _load(self, download: bool) -> tuple[Any, str, str, Any]:
        models = load_library("torchvision.models", self._extra)
        if self.model not in models.list_models():
            raise UnknownNameError("model of torchvision", self.model, models.list_models())
        published = models.get_model_weights(self.model)
        file = Path(self.weights).expanduser()
        if not file.suffix:
            if self.weights not in published.__members__:
                raise UnknownNameError(f"weights of {self.model}", self.weights, published.__members__)
            chosen = published[self.weights]
            weights = f"{self.weights} ({chosen.url.rpartition('/')[2]})"
            file = Path(self._torch.hub.get_dir()) / "checkpoints" / chosen.url.rpartition("/")[2]
            if download and not file.is_file():
                chosen.get_state_dict(progress=False)
        else:
            chosen, weights = published.DEFAULT, file.name
        state = self._torch.load(file, map_location="cpu", weights_only=True)
        classes = len(list(state.values())[-1])
        network = models.get_model(self.model, weights=None, num_classes=classes)
        network.load_state_dict(state)
        _drop_last_layer(self._torch, network)
        self._transform = chosen.transforms()
        return network, f"torchvision {self.model}", weights, self._transform

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return features (n, d), float32."""
        return self._rows(self._model, self._stack(images, self._transform))


class Timm(_TorchEncoder):
    """A model of timm, its pooled features. ``weights``: a file, or nothing for those that timm has for the model."""

    summary = "image features of a timm model"
    citation = "Wightman, PyTorch image models, 2019"
    encodes = (IMAGES,)
    model = parameter("model of timm, with the name of its weights behind a point", Text(), default="resnet50.a1_in1k")
    weights = parameter("a file; empty for the published ones", Text(), default="")
    _extra = _distribution = "timm"

    def _load(self, download: bool) -> tuple[Any, str, str, Any]:
        timm = load_library("timm", self._extra)
        if not timm.is_model(self.model):
            raise UnknownNameError("model of timm", self.model, timm.list_models())
        if self.weights and not Path(self.weights).expanduser().is_file():
            raise FileNotFoundError(self.weights)
        checkpoint = str(Path(self.weights).expanduser()) if self.weights else ""
        network = timm.create_model(self.model, pretrained=not checkpoint, checkpoint_path=checkpoint)
        network.reset_classifier(0)
        data = load_library("timm.data", self._extra)
        self._transform = data.create_transform(**data.resolve_data_config({}, model=network))
        weights = Path(checkpoint).name if checkpoint else self.model
        return network, f"timm {self.model}", weights, self._transform

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return features (n, d), float32."""
        return self._rows(self._model, self._stack(images, self._transform))


class OpenClip(_TorchEncoder):
    """A model of open_clip: images and texts in one space. ``weights``: a tag of published ones, or a file."""

    summary = "images and texts in the space of an open_clip model"
    citation = "Cherti et al., Reproducible scaling laws for contrastive language-image learning, CVPR 2023"
    encodes = (IMAGES, TEXTS)
    model = parameter("model of open_clip", Text(), default="ViT-B-32")
    weights = parameter("tag of published weights, or a file", Text(), default="laion2b_s34b_b79k")
    _extra, _distribution = "open-clip", "open_clip_torch"

    def _load(self, download: bool) -> tuple[Any, str, str, Any]:
        library = load_library("open_clip", self._extra)
        if self.model not in library.list_models():
            raise UnknownNameError("model of open_clip", self.model, library.list_models())
        file = Path(self.weights).expanduser()
        tags = library.list_pretrained_tags_by_model(self.model)
        if not file.is_file() and self.weights not in tags:
            raise UnknownNameError(f"weights of {self.model}", self.weights, tags)
        pretrained = str(file) if file.is_file() else self.weights
        network, _, self._transform = library.create_model_and_transforms(self.model, pretrained=pretrained)
        self._tokenize = library.get_tokenizer(self.model)
        return network, f"open_clip {self.model}", file.name, self._transform

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return points of the shared space (n, d), float32."""
        return self._rows(self._model.encode_image, self._stack(images, self._transform))

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return points of the shared space (n, d), float32."""
        return self._rows(self._model.encode_text, self._tokenize(list(texts)))


class SentenceEncoder(_TorchEncoder):
    """A model of sentence-transformers. ``weights``: a folder, or the name of a published model."""

    summary = "text embeddings of a sentence-transformers model"
    citation = "Reimers and Gurevych, Sentence-BERT, EMNLP 2019"
    encodes = (TEXTS,)
    weights = parameter("folder or name of the model", Text(), default="sentence-transformers/all-MiniLM-L6-v2")
    _extra = _distribution = "sentence-transformers"

    def _load(self, download: bool) -> tuple[Any, str, str, Any]:
        library = load_library("sentence_transformers", self._extra)
        model = library.SentenceTransformer(self.weights, device=self.device, local_files_only=not download)
        return model, Path(self.weights).name, Path(self.weights).name, f"at most {model.max_seq_length} tokens"

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return embeddings (n, a), float32."""
        rows = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(rows, dtype=np.float32)


class Transformers(_TorchEncoder):
    """A vision model of transformers, or one of images and texts such as CLIP and SigLIP.

    ``weights``: a folder, or the name of a published model. Features of a vision model are its pooled output, else the
    mean of its last states.
    """

    summary = "images, and texts of CLIP-like models, by a model of transformers"
    citation = "Wolf et al., Transformers: state-of-the-art natural language processing, EMNLP 2020"
    encodes = (IMAGES, TEXTS)
    weights = parameter("folder or name of the model", Text(), default="openai/clip-vit-base-patch32")
    _extra = _distribution = "transformers"

    def _load(self, download: bool) -> tuple[Any, str, str, Any]:
        library, local = load_library("transformers", self._extra), not download
        model = library.AutoModel.from_pretrained(self.weights, local_files_only=local)
        self._images = library.AutoImageProcessor.from_pretrained(self.weights, local_files_only=local)
        self._tokenize = None
        if hasattr(model, "get_text_features"):
            self._tokenize = library.AutoTokenizer.from_pretrained(self.weights, local_files_only=local)
        settings = self._images.to_dict()
        prepared = ", ".join(
            f"{k}={settings[k]}" for k in ("size", "crop_size", "image_mean", "image_std") if k in settings
        )
        return model, Path(self.weights).name, Path(self.weights).name, prepared

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return features (n, d), float32."""
        pictures = [Image.fromarray(image) for image in images]
        pixels = self._images(pictures, return_tensors="pt")["pixel_values"]
        call = getattr(self._model, "get_image_features", self._model)
        return self._rows(lambda batch: _pooled(call(pixel_values=batch)), pixels)

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return points of the shared space (n, d), float32; raises :class:`UsageError` for a model without texts."""
        if self._tokenize is None:
            raise UsageError(f"{self.weights} encodes no texts; give another --text-encoder (zslplat list encoders)")
        # Padded to the length of the model, as it was trained; so no row depends on the longest of its batch.
        tokens = self._tokenize(list(texts), padding="max_length", truncation=True, return_tensors="pt")
        call = self._model.get_text_features
        return self._rows(lambda ids: _pooled(call(input_ids=ids)), tokens["input_ids"])


def digest_of_tensors(module: Any) -> str:
    """Return the SHA-256 over the names, types, shapes and bytes of the tensors of a module, in the order of names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        array = np.ascontiguousarray(tensor.detach().cpu().float().numpy())
        digest.update(f"{name}|{tensor.dtype}|{tuple(tensor.shape)}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _pooled(output: Any) -> Any:
    if hasattr(output, "pooler_output"):
        output = output.pooler_output if output.pooler_output is not None else output.last_hidden_state.mean(dim=1)
    return output


def _drop_last_layer(torch: Any, network: Any) -> None:
    name = [name for name, module in network.named_modules() if isinstance(module, torch.nn.Linear)][-1]
    owner, _, last = name.rpartition(".")
    setattr(network.get_submodule(owner), last, torch.nn.Identity())


@contextmanager
def _weights(name: str, extra: str, download: bool) -> Any:
    """Turn what a library raises for weights that are not there, or do not fit, into one line."""
    try:
        yield
    except (ZslplatError, MemoryError):
        raise
    except Exception as error:
        cause = " ".join(str(error).split())[:200]
        advice = "give weights=FILE" if download else "give weights=FILE, or add --download"
        raise MissingDataError(
            f"{extra}: the weights cannot be loaded ({type(error).__name__}: {cause}); {advice}"
        ) from error
