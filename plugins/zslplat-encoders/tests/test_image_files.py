"""Images of every form become upright RGB, and what cannot be read is named."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_images import draw_folder, png
from PIL import Image

from zslplat.errors import DataError, MissingDataError
from zslplat_encoders.image_files import UnreadableImage, decode, list_images

RED = np.zeros((4, 6, 3), np.uint8) + np.array([200, 30, 30], np.uint8)


def test_a_transparent_image_lies_on_white():
    alpha = np.zeros((4, 6, 1), np.uint8)
    alpha[:, :3] = 255
    pixels = decode(png(Image.fromarray(np.dstack([RED, alpha]))))
    assert pixels.shape == (4, 6, 3)
    assert pixels[0, 0].tolist() == [200, 30, 30]
    assert pixels[0, 5].tolist() == [255, 255, 255]


def test_a_palette_with_a_transparent_colour_lies_on_white():
    image = Image.fromarray(RED).convert("P", palette=Image.Palette.ADAPTIVE, colors=2)
    assert decode(png(image, transparency=image.getpixel((0, 0))))[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("mode", ["L", "1", "LA", "P", "CMYK"])
def test_other_modes_become_rgb(mode):
    buffer = io.BytesIO()
    Image.new(mode, (5, 3), 0).save(buffer, "TIFF" if mode == "CMYK" else "PNG")
    assert decode(buffer.getvalue()).shape == (3, 5, 3)


def test_grey_of_16_bits_keeps_its_range():
    values = np.array([[0, 32768, 65535]], np.uint16)
    assert decode(png(Image.fromarray(values)))[0, :, 0].tolist() == [0, 128, 255]


def test_an_image_is_turned_as_its_exif_says():
    image = Image.fromarray(RED)
    exif = image.getexif()
    exif[0x0112] = 6  # a quarter to the right
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif)
    assert decode(buffer.getvalue()).shape == (6, 4, 3)


def test_one_pixel_is_an_image():
    assert decode(png(Image.new("RGB", (1, 1), "blue"))).tolist() == [[[0, 0, 255]]]


@pytest.mark.parametrize(
    "content",
    [b"", b"not an image", png(Image.fromarray(RED.repeat(40, 0).repeat(40, 1)))[:-80]],
    ids=["empty", "text", "truncated"],
)
def test_what_is_no_whole_image_is_refused_in_one_line(content):
    with pytest.raises(UnreadableImage) as refused:
        decode(content)
    assert str(refused.value)
    assert "\n" not in str(refused.value)
    assert "0x" not in str(refused.value)


def test_folder_csv_and_parquet_of_the_same_images_are_alike(tmp_path):
    draw_folder(tmp_path / "images")
    folder = list_images(tmp_path / "images")
    lines = [f"images/{name},{label}" for name, label in zip(folder.names, folder.labels, strict=True)]
    (tmp_path / "list.csv").write_text("\n".join(["path,label", *lines]))
    contents = [folder.read(number) for number in range(len(folder.names))]
    table = {"image": [{"bytes": one, "path": "x.png"} for one in contents], "label": folder.labels}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet", row_group_size=5)
    for other in (list_images(tmp_path / "list.csv"), list_images(tmp_path / "rows.parquet")):
        assert other.labels == folder.labels
        assert [other.read(number) for number in range(len(contents))] == contents
        assert other.read(3) == contents[3]


def test_numbers_of_classes_have_the_names_beside_the_columns(tmp_path):
    names = {"info": {"features": {"label": {"names": ["wren", "owl"], "_type": "ClassLabel"}}}}
    table = pa.table({"image": [b"x", b"y"], "label": [1, 0]})
    pq.write_table(table.replace_schema_metadata({"huggingface": json.dumps(names)}), tmp_path / "birds.parquet")
    assert list_images(tmp_path / "birds.parquet").labels == ["owl", "wren"]


def test_folders_called_after_splits_are_splits(tmp_path):
    draw_folder(tmp_path / "train")
    draw_folder(tmp_path / "Test")
    images = list_images(tmp_path)
    assert set(images.splits) == {"train", "test"}
    assert set(images.labels) == {f"{c}_{s}" for c in ("red", "green", "blue") for s in ("circle", "square")}


def test_what_holds_no_images_is_refused_with_what_is_expected(tmp_path):
    with pytest.raises(DataError, match="expected a folder of files"):
        list_images(tmp_path)
    with pytest.raises(MissingDataError, match="no such file or folder"):
        list_images(tmp_path / "none")
    (tmp_path / "list.csv").write_text("name,kind\na.png,wren\n")
    with pytest.raises(DataError, match="no column path or image"):
        list_images(tmp_path / "list.csv")
