"""Properties of settings and of configurations of runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zslplat.config import read_config, write_config
from zslplat.errors import StoreError, UsageError
from zslplat.records.outages import shown_address
from zslplat.records.sqlite_files import address_for_reading
from zslplat.settings import remember_data_root, resolve_settings
from zslplat.spec import Spec


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("ZSLPLAT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def user_config(tmp_path, text):
    folder = tmp_path / "config" / "zslplat"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def test_without_settings_everything_is_below_the_working_directory():
    settings = resolve_settings()
    store = Path.cwd() / "mlruns"
    assert settings.store == store
    assert settings.data_root is None
    assert settings.tracking_uri == f"sqlite:///{store}/mlflow.db"
    assert settings.storage_url == f"sqlite:///{store}/optuna.db"
    assert settings.tracking_is_local
    assert settings.cache_gigabytes == 20
    assert not store.exists()


def test_a_data_root_is_remembered_where_none_is_set(monkeypatch, tmp_path):
    assert remember_data_root(tmp_path / "none") is None
    Path("zslplat.toml").write_text('store = "kept"\n')
    (tmp_path / 'my "root"').mkdir()
    assert remember_data_root(tmp_path / 'my "root"') == Path("zslplat.toml")
    settings = resolve_settings()
    assert (settings.data_root, settings.store.name) == (tmp_path / 'my "root"', "kept")
    assert remember_data_root(tmp_path) is None
    Path("zslplat.toml").unlink()
    monkeypatch.setenv("ZSLPLAT_DATA_ROOT", str(tmp_path))
    assert remember_data_root(tmp_path) is None
    assert not Path("zslplat.toml").exists()


def test_option_beats_environment_beats_working_directory_beats_user(monkeypatch, tmp_path):
    seen = []
    user_config(tmp_path, 'store = "/a"\ndata_root = "/user"')
    seen.append(resolve_settings().store)
    Path("zslplat.toml").write_text('store = "/b"')
    seen.append(resolve_settings().store)
    monkeypatch.setenv("ZSLPLAT_STORE", "/c")
    seen.append(resolve_settings().store)
    seen.append(resolve_settings({"store": Path("/d"), "data_root": None}).store)
    assert seen == [Path("/a"), Path("/b"), Path("/c"), Path("/d")]
    assert resolve_settings().data_root == Path("/user")


def test_another_tracking_server_is_not_local():
    assert not resolve_settings({"tracking_uri": "http://localhost:5000"}).tracking_is_local


@pytest.mark.parametrize(
    ("tracking", "storage"),
    [
        ("sqlite:////tmp/one.db", "sqlite:////tmp/one.db"),
        ("postgresql://me:secret@host/one", "postgresql+psycopg://you@host/one"),
    ],
)
def test_one_database_cannot_be_both_records_and_mlflow(tracking, storage):
    with pytest.raises(UsageError, match=r"are one database.*give MLflow a database of its own") as caught:
        resolve_settings({"tracking_uri": tracking, "storage_url": storage})
    assert "secret" not in str(caught.value)
    other = storage.replace("one", "two")
    assert resolve_settings({"tracking_uri": tracking, "storage_url": other}).storage_url == other


@pytest.mark.parametrize(("given", "expected"), [("0", 0.0), ("1.5", 1.5)])
def test_the_bound_of_the_cache_may_be_nothing(monkeypatch, given, expected):
    monkeypatch.setenv("ZSLPLAT_CACHE_GIGABYTES", given)
    assert resolve_settings().cache_gigabytes == expected
    monkeypatch.delenv("ZSLPLAT_CACHE_GIGABYTES")
    Path("zslplat.toml").write_text(f"cache_gigabytes = {given}")
    assert resolve_settings().cache_gigabytes == expected


@pytest.mark.parametrize("given", ["-1", "much", "nan"])
def test_a_senseless_bound_of_the_cache_is_refused(monkeypatch, given):
    monkeypatch.setenv("ZSLPLAT_CACHE_GIGABYTES", given)
    with pytest.raises(UsageError, match="cache_gigabytes"):
        resolve_settings()


def test_how_long_to_wait_for_servers_is_said_like_any_other_setting(monkeypatch):
    Path("zslplat.toml").write_text("outage_seconds = 7.5")
    assert resolve_settings().outage_seconds == 7.5
    monkeypatch.setenv("ZSLPLAT_OUTAGE_SECONDS", "inf")
    assert resolve_settings().outage_seconds == float("inf")
    monkeypatch.setenv("ZSLPLAT_OUTAGE_SECONDS", "a while")
    with pytest.raises(UsageError, match="outage_seconds='a while': expected a number of seconds"):
        resolve_settings()


@pytest.mark.parametrize("text", ["stoer = 'x'", "store = 5", "store =", "cache_gigabytes = true", "store = ['a']"])
def test_a_config_file_that_is_wrong_is_named(text):
    Path("zslplat.toml").write_text(text)
    with pytest.raises(UsageError, match=r"config file zslplat\.toml"):
        resolve_settings()


def test_a_store_is_made_once_and_left_clean(tmp_path):
    settings = resolve_settings({"store": tmp_path / "deep" / "store"})
    settings.make_store()
    settings.make_store()
    assert sorted(p.name for p in settings.store.iterdir()) == ["artifacts", "cache", "studies"]


def test_a_store_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        resolve_settings({"store": tmp_path / "file" / "store"}).make_store()


CONFIG = {
    "method": str(Spec("m", {"lam": 0.1, "kernel": 'odd "name"'})),
    "dataset": str(Spec("/data/my set.npz", {"part": "a b"})),
    "task": str(Spec("gzsl")),
    "features": "center,l2",
    "signatures": None,
    "seed": 3,
    "method_seed": 7,
    "data": "0123",
    "split": "test",
    "carried": {"bias": 0.25, "best_step": 12.0},
}


def test_a_configuration_is_read_as_it_was_written(tmp_path):
    write_config(tmp_path / "deep" / "best.toml", CONFIG, repeats=5, study="s", trial=7)
    content = read_config(tmp_path / "deep" / "best.toml")
    for name in ("method", "dataset", "task"):
        assert Spec.parse(content[name]) == Spec.parse(CONFIG[name])
    kept = ("features", "seed", "method_seed", "data", "carried")
    assert {k: content[k] for k in (*kept, "repeats", "study", "trial")} == {
        **{k: CONFIG[k] for k in kept},
        "repeats": 5,
        "study": "s",
        "trial": 7,
    }
    assert not {"signatures", "split"} & set(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"method = ", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        (b"dataset = 'x'", "no key 'method'"),
        (b"method = 'x'\nlam = 1", "unknown key 'lam'"),
        (b"method = 5", "method=5"),
        (b"method = 'x'\nseed = 'one'", "seed='one'"),
        (b"method = 'x'\nrepeats = true", "repeats=True"),
        (b"method = 'x'\ncarried = 1", "carried=1"),
    ],
)
def test_a_file_that_is_no_configuration_is_named(tmp_path, content, why):
    path = tmp_path / "best.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=why) as caught:
        read_config(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["50%25 of %41", "a#b é 'q\" &x=1", "%zz%"])
def test_a_store_may_be_called_anything_and_its_databases_lie_in_it(tmp_path, name):
    from sqlalchemy import create_engine, text

    settings = resolve_settings({"store": tmp_path / name})
    settings.make_store()
    assert settings.storage_is_local
    assert settings.tracking_is_local
    for url, file in ((settings.storage_url, "optuna.db"), (settings.tracking_uri, "mlflow.db")):
        with create_engine(url).begin() as connection:
            connection.execute(text("create table a (b integer)"))
        assert (tmp_path / name / file).is_file()
        with create_engine(address_for_reading(tmp_path / name / file)).connect() as connection:
            assert connection.execute(text("select * from a")).all() == []


@pytest.mark.parametrize("password", ["it's5ecret", 'say"5ecret', "5ecret word", "12/5ecret"])
def test_a_password_of_any_signs_is_masked_where_its_address_is_known(password):
    url = f"postgresql+psycopg://o'b:{password}@host/name"
    settings = resolve_settings({"tracking_uri": url, "storage_url": url.replace("/name", "/other")})
    for shown in (shown_address(settings.storage_url), settings.shown_tracking_uri, settings.masked(f"at {url}: no")):
        assert "5ecret" not in shown
        assert "host/" in shown


@pytest.mark.parametrize("name", ["a%20b", "per%", "x%41%2Fz", "p#q", "ü ñ", "it's", "a@b:c", "+plus&and=;", "[x]*{y}"])
def test_a_store_by_any_name_is_all_that_its_databases_leave(name, tmp_path):
    import sqlalchemy as sa
    from mlflow.store.db.utils import create_sqlalchemy_engine_with_retry

    place = tmp_path / "stores"
    settings = resolve_settings({"store": str(place / name)})
    settings.make_store()
    for engine in (create_sqlalchemy_engine_with_retry(settings.tracking_uri), sa.create_engine(settings.storage_url)):
        with engine.begin() as connection:
            connection.execute(sa.text("create table t (a int)"))
        engine.dispose()
    assert [path.name for path in place.iterdir()] == [name]
    assert {path.name for path in (place / name).glob("*.db")} == {"mlflow.db", "optuna.db"}
    assert settings.tracking_is_local
    assert settings.storage_is_local


def test_a_store_whose_name_no_address_can_hold_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(UsageError, match=r"may not contain '\?'.*choose another --store"):
        resolve_settings({"store": str(tmp_path / "a?mode=ro")})
