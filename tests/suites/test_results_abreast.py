"""Files that several commands add to at a time: each keeps what the others wrote."""

from concurrent.futures import ThreadPoolExecutor

from zslplat.data.download import FirstDigest, first_digest, remember_digest
from zslplat.suites.result_files import keep_results, read_file


def test_results_of_commands_abreast_are_all_kept(tmp_path):
    def keep(number):
        for turn in range(5):
            keep_results("notes", [{"note": f"{number}-{turn}", "seconds": "1"}], ("note",), tmp_path, hours=0.0)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(keep, range(4)))
    assert {line["note"] for line in read_file(tmp_path / "notes.csv")} == {
        f"{number}-{turn}" for number in range(4) for turn in range(5)
    }
    assert [path.name for path in tmp_path.iterdir()] == ["notes.csv"]


def test_digests_of_downloads_abreast_are_all_remembered(tmp_path):
    found = [FirstDigest(f"https://example.org/{number}.zip", number, "0" * 64, "today") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda digest: remember_digest(tmp_path, digest), found))
    assert [first_digest(tmp_path, digest.url) for digest in found] == found
