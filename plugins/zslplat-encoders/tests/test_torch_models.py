"""Encoders of libraries on torch, with weights that are drawn: each test is skipped where its library is missing."""

import numpy as np
import pytest
from drawn_images import drawn

from zslplat.errors import MissingDataError, UnknownNameError, UsageError
from zslplat.testing import checks_for
from zslplat_encoders.encoder import pretraining_of
from zslplat_encoders.torch_models import OpenClip, SentenceEncoder, Timm, Torchvision, Transformers

LETTERS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "blue", "circle", "square", "a", "photo", "of", "."]


@pytest.mark.parametrize(
    ("weights", "alone"),
    [
        ("resnet50.a1_in1k", True),
        ("IMAGENET1K_V2 (resnet101-cd907fc2.pth)", True),
        ("vit_base_patch16_224.augreg_in21k_ft_in1k", False),
        ("vit_base_patch16_clip_224.laion2b_ft_in12k_in1k", False),
        ("IMAGENET1K_SWAG_E2E_V1 (vit_b_16_swag-9ac1b537.pth)", False),
        ("tf_efficientnet_b0.ns_jft_in1k", False),
        ("eva02_large_patch14_448.mim_m38m_ft_in1k", False),
        ("laion2b_s34b_b79k", False),
        ("clip-vit-base-patch32", False),
        ("mine.pth", False),
    ],
)
def test_only_weights_of_imagenet_alone_are_said_to_be_of_its_classes(weights, alone):
    assert pretraining_of(weights) == ("imagenet-1k" if alone else f"the data of {weights}")


def library(name, extra):
    return pytest.importorskip(name, reason=f"{name} is not installed: zslplat-encoders[{extra}]")


def keeps_its_promises(encoder):
    for check in checks_for(encoder):
        if check.__name__ != "parameters_that_are_not_legal_are_refused":  # looked at for all by `plugins check`
            check(encoder)


def images():
    rng = np.random.default_rng(0)
    return [np.asarray(drawn(colour, "square", rng)) for colour in ("red", "green", "blue")]


def test_a_torchvision_model_is_read_from_a_file(tmp_path):
    models, torch = library("torchvision.models", "torchvision"), library("torch", "torchvision")
    torch.manual_seed(0)
    network = models.resnet18(weights=None, num_classes=7)
    torch.save(network.state_dict(), tmp_path / "drawn.pth")
    encoder = Torchvision(model="resnet18", weights=str(tmp_path / "drawn.pth"))
    facts = encoder.open()
    assert (facts.encoder, facts.weights, len(facts.weights_sha256)) == ("torchvision resnet18", "drawn.pth", 64)
    rows = encoder.encode_images(images())
    assert rows.shape == (3, 512)
    network.fc = torch.nn.Identity()
    with torch.inference_mode():
        from PIL import Image

        pixels = models.ResNet18_Weights.DEFAULT.transforms()(Image.fromarray(images()[0]))
        np.testing.assert_allclose(rows[0], network.eval()(pixels[None])[0], atol=1e-5)
    keeps_its_promises(encoder)


def test_published_weights_are_not_fetched_unless_asked(tmp_path, monkeypatch):
    library("torchvision.models", "torchvision")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"the weights cannot be loaded .*add --download"):
        Torchvision(model="resnet18", weights="IMAGENET1K_V1").open()
    with pytest.raises(UnknownNameError, match="did you mean resnet18"):
        Torchvision(model="resnet_18").open()


@pytest.mark.parametrize("model", ["resnet18", "vit_tiny_patch16_224"])
def test_a_timm_model_is_read_from_a_file(tmp_path, model):
    timm, torch = library("timm", "timm"), library("torch", "timm")
    torch.manual_seed(0)
    network = timm.create_model(model, pretrained=False)
    torch.save(network.state_dict(), tmp_path / "drawn.pth")
    encoder = Timm(model=model, weights=str(tmp_path / "drawn.pth"))
    assert encoder.open().weights == "drawn.pth"
    assert encoder.encode_images(images()).shape[0] == 3
    keeps_its_promises(encoder)
    with pytest.raises(MissingDataError, match=r"timm: the weights cannot be loaded .*none.pth"):
        Timm(model=model, weights="none.pth").open()


def test_an_open_clip_model_has_images_and_texts_in_one_space(tmp_path):
    open_clip, torch = library("open_clip", "open-clip"), library("torch", "open-clip")
    torch.manual_seed(0)
    network = open_clip.create_model("RN50")
    torch.save(network.state_dict(), tmp_path / "drawn.pt")
    encoder = OpenClip(model="RN50", weights=str(tmp_path / "drawn.pt"))
    assert encoder.open().pretraining == "the data of drawn.pt"
    assert encoder.encode_images(images()).shape == encoder.encode_texts(["red", "blue", "a square"]).shape
    keeps_its_promises(encoder)
    with pytest.raises(UnknownNameError, match="weights of RN50 'openay'"):
        OpenClip(model="RN50", weights="openay").open()


def drawn_clip(folder):
    transformers, torch = library("transformers", "transformers"), library("torch", "transformers")
    torch.manual_seed(0)
    common = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    text = {**common, **ends, "vocab_size": len(LETTERS), "max_position_embeddings": 12}
    vision = {**common, "image_size": 32, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    transformers.CLIPModel(config).save_pretrained(folder)
    transformers.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=32).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(LETTERS))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=12)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_model_of_transformers_has_images_and_texts_in_one_space(tmp_path):
    encoder = Transformers(weights=str(drawn_clip(tmp_path)))
    facts = encoder.open()
    assert "32" in facts.preprocessing
    assert encoder.encode_images(images()).shape == encoder.encode_texts(["red", "blue", "a square"]).shape == (3, 16)
    keeps_its_promises(encoder)


def test_a_vision_model_of_transformers_encodes_images_alone(tmp_path):
    transformers = library("transformers", "transformers")
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8
    )
    transformers.ViTModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    encoder = Transformers(weights=str(tmp_path))
    encoder.open()
    assert encoder.encode_images(images()).shape == (3, 32)
    with pytest.raises(UsageError, match="encodes no texts"):
        encoder.encode_texts(["red"])


def test_sentence_transformers_agrees_with_the_computation_without_torch():
    library("sentence_transformers", "sentence-transformers")
    from zslplat_encoders.bert import MiniLM

    small = MiniLM()
    try:
        small.open()
    except (UsageError, MissingDataError) as error:
        pytest.skip(str(error))
    encoder = SentenceEncoder(weights=str(small._folder()))
    encoder.open()
    texts = ["red circle", "a photo of a blue striped square.", "night " * 300]
    np.testing.assert_allclose(encoder.encode_texts(texts), small.encode_texts(texts), atol=1e-6)
    keeps_its_promises(encoder)


def test_the_digest_is_that_of_the_tensors(tmp_path):
    torch = library("torch", "torchvision")
    from zslplat_encoders.torch_models import digest_of_tensors

    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    before = digest_of_tensors(layer)
    assert before == digest_of_tensors(layer)
    layer.weight.data[0, 0] += 1e-3
    assert digest_of_tensors(layer) != before
