"""Files that several commands add to at a time: each keeps what the others wrote."""

from concurrent.futures import ThreadPoolExecutor

from zslplat_papers.reproduction.results import keep_results, read_file


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
