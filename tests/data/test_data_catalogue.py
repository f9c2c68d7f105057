"""What a data set name means: registered first, then the data root."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from array_toys import save, write_csv
from xlsa17_toys import toy_arrays, write_folder

from zslplat.data.catalogue import FILE_SUFFIXES, available, open_source, roots_below
from zslplat.data.description import describe
from zslplat.data.feature_card import DATA_SUFFIXES
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import CsvSource
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.sets.digit_pairs import DigitPairs
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, MissingDataError, PluginError, UnknownDataError, UnknownNameError, UsageError
from zslplat.spec import Spec


def broken():
    raise PluginError("data set 'broken' of x 1.0 does not load: ImportError: no module y")


REGISTERED = {"digit-pairs": DigitPairs, "lazy": lambda: DigitPairs, "broken": broken}


@pytest.fixture
def places(tmp_path):
    root = tmp_path / "root"
    write_folder(root / "AWA2")
    write_csv(root / "birds.csv")
    save(root)
    (root / ".downloads").mkdir()
    (root / "empty").mkdir()
    return DataPlaces(root, tmp_path / "cache")


def opened(text, places):
    return open_source(Spec.parse(text), places, REGISTERED)


def test_everything_that_can_be_named_is_listed(places):
    listed = {entry.name: entry for entry in available(places, REGISTERED)}
    assert list(listed) == ["broken", "digit-pairs", "lazy", "AWA2", "birds", "toy"]
    assert [e.kind for e in listed.values()] == ["registered"] * 3 + ["xlsa17", "csv", "npz"]
    assert listed["AWA2"].summary == "features: res101; signatures: att"
    assert listed["lazy"].summary == DigitPairs.summary
    assert "no module y" in listed["broken"].summary
    assert len(available(DataPlaces(), REGISTERED)) == len(available(DataPlaces(places.root / "none"), REGISTERED)) == 3


def test_every_layout_opens_by_its_name(places):
    assert isinstance(opened("digit-pairs", places), DigitPairs)
    for text, kind in (("AWA2", Xlsa17), ("birds", CsvSource), ("toy", NpzSource)):
        source = opened(text, places)
        assert isinstance(source, kind)
        assert source.load(places).name == text


def test_a_file_alone_in_a_folder_with_a_card_is_the_data_set_of_that_folder(places):
    assert {*DATA_SUFFIXES} == {*FILE_SUFFIXES}
    folder = places.root / "gulls"
    write_csv(folder / "rows.csv")
    with pytest.raises(DataError, match="gulls: no data set in a layout that is known"):
        opened("gulls", places)
    (folder / "card.toml").write_text('licence = "CC0"\n')
    for text in ("gulls", f'"{folder}"', f'"{folder / "rows.csv"}"'):
        data = opened(text, places).load(places)
        assert (data.name, data.licence) == ("gulls", "CC0")
    assert ("gulls", "csv") in {(entry.name, entry.kind) for entry in available(places, {})}
    save(folder)
    with pytest.raises(DataError, match="gulls: no data set in a layout that is known"):
        opened("gulls", places)
    assert opened(f'"{folder / "rows.csv"}"', places).load(places).licence != "CC0"


def test_options_of_a_spec_reach_the_loader(places):
    dataset = opened("AWA2(field=original_att, features=res101)", places).load(places)
    assert dataset.default_signatures == "original_att"
    with pytest.raises(UsageError, match="unknown option 'featurs'"):
        opened("AWA2(featurs=res101)", places)
    with pytest.raises(UsageError, match="path is given by the name itself"):
        opened("AWA2(path=AWA1)", places)


def test_registered_name_wins_over_the_data_root(places):
    save(places.root)
    (places.root / "toy.npz").rename(places.root / "lazy.npz")
    assert isinstance(opened("lazy", places), DigitPairs)
    assert [e.kind for e in available(places, REGISTERED) if e.name == "lazy"] == ["registered"]


def test_unknown_names_list_near_matches_of_both_kinds(places):
    with pytest.raises(UnknownNameError, match=r"'AWA1'; did you mean AWA2\?"):
        opened("AWA1", places)
    with pytest.raises(UnknownNameError, match=r"'digit-pair'; did you mean digit-pairs"):
        opened("digit-pair", places)
    with pytest.raises(UnknownNameError, match=r"'digit-pair'; did you mean digit-pairs"):
        opened("digit-pair", DataPlaces())


def test_a_near_name_is_proposed_where_no_data_root_is_set():
    with pytest.raises(UnknownNameError, match=r"did you mean digit-pairs\? zslplat data list lists all"):
        opened("digit-pairs2", DataPlaces())


@pytest.mark.parametrize("above", [1, 2])
def test_a_data_set_below_the_data_root_is_said_to_lie_there(tmp_path, above):
    place = tmp_path / "a root" / "xlsa17" / "data"
    write_folder(place / "AWA2")
    (tmp_path / "a root" / "unreadable").mkdir(mode=0)
    root = place.parents[above - 1]
    assert roots_below(root) == [place]
    assert roots_below(place) == []
    with pytest.raises(MissingDataError, match=rf"'AWA2' lies in {place}, .*; give --data-root '{place}'"):
        opened("AWA2", DataPlaces(root))
    with pytest.raises(UnknownDataError):
        opened("CUB", DataPlaces(root))


def test_missing_root_and_unknown_layout_are_clear(places):
    with pytest.raises(DataError, match=r"'AWA2' is not built in .*no data root is set; .*--data-root.*ZSLPLAT_DATA_R"):
        opened("AWA2", DataPlaces())
    with pytest.raises(DataError, match=r"data root .*gone is no folder; set it with --data-root"):
        opened("AWA2", DataPlaces(places.root / "gone"))
    with pytest.raises(DataError, match=r"empty: no data set in a layout that is known; expected att_splits\.mat"):
        opened("empty", places)


def test_description_agrees_with_the_arrays(places):
    dataset = opened("AWA2", places).load(places)
    shown = describe(dataset)
    json.dumps(shown)
    X, _, S, _ = toy_arrays()
    assert shown["rows"] == 80
    assert shown["dimensions"] == [6]
    assert (shown["seen_classes"], shown["unseen_classes"], shown["classes"]) == (6, 2, 8)
    assert shown["splits"]["test_unseen"] == {"rows": 20, "classes": 2}
    assert shown["folds"][0] == {"name": "fold-1", "train_classes": 4, "validation_classes": 2}
    assert shown["features"]["zero_share"] == np.mean(X == 0)
    assert shown["signatures"]["att"]["max"] == S.max()
    assert shown["signatures"]["att"]["attributes"] == 5
    assert shown["fingerprint"] == dataset.fingerprint


def test_negative_shares_are_counted_over_all_rows():
    from zslplat.data.dataset import Dataset

    X = np.random.default_rng(0).standard_normal((9000, 3)).astype(np.float32)
    shown = describe(Dataset("n", X, np.zeros(9000, dtype=int), ("a",)))
    assert shown["features"]["negative_share"] == np.mean(X < 0)
    assert shown["features"]["min"] == X.min()


def test_a_slip_in_the_name_of_a_built_in_set_is_no_missing_set(places):
    with pytest.raises(UnknownNameError) as found:
        opened("digit-pair", places)
    assert not isinstance(found.value, UnknownDataError)
    with pytest.raises(UnknownDataError):
        opened("quite-another", places)


def test_a_path_to_nothing_leads_to_all_files_of_the_nearest_name_first_of_the_same_kind(tmp_path):
    for name in ("birds.npz", "birds.csv", "other.csv"):
        (tmp_path / name).touch()
    for suffix, other in ((".csv", ".npz"), (".npz", ".csv")):
        near = f"did you mean {tmp_path}/birds{suffix} or {tmp_path}/birds{other}?"
        with pytest.raises(MissingDataError, match=re.escape(near)):
            open_source(Spec(str(tmp_path / f"bird{suffix}")), DataPlaces(), REGISTERED)
