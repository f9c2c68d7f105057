"""Addresses are judged before anything is asked of them, and messages name the one that failed, without secrets."""

import pytest
from download_toys import archive_of, serving
from support import one_line

from zslplat.errors import DataError, UsageError
from zslplat.settings import masked_url
from zslplat_papers.fetching.download import checked_address, fetch


@pytest.fixture
def server():
    with serving(b"content") as server:
        yield server


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("http://example.org/a.zip", "http://example.org/a.zip"),
        ("HTTPS://Example.org:8080/a%20b.zip?x=1&y=%C3%BC", "https://Example.org:8080/a%20b.zip?x=1&y=%C3%BC"),
        ("http://example.org/größe.zip?ä=ö", "http://example.org/gr%C3%B6%C3%9Fe.zip?%C3%A4=%C3%B6"),
        ("http://bücher.example:81/a.zip", "http://xn--bcher-kva.example:81/a.zip"),
        ("http://[::1]:81/a.zip", "http://[::1]:81/a.zip"),
    ],
)
def test_an_address_is_written_as_it_is_asked_for(given, asked):
    assert checked_address(given) == asked
    assert checked_address(asked) == asked


WRONG = {
    "": "expected one that begins with http:// or https://",
    "a.zip": "expected one that begins with http:// or https://",
    "ftp://example.org/a.zip": "expected one that begins with http:// or https://",
    "file:///etc/hostname": "expected one that begins with http:// or https://",
    "http://": "it names no host",
    "http:///a.zip": "it names no host",
    "http://:80/a.zip": "it names no host",
    "http://[::1/a.zip": "Invalid IPv6 URL",
    "http://example.org/a b.zip": "it holds a blank; write %20",
    "http://exa\tmple.org/a.zip": "it holds a blank",
    "http://example.org/a\x00.zip": "cannot be seen or written",
    "http://example.org:zip/a.zip": "Port could not be cast",
    "http://example.org:0/a.zip": "its port is 0",
    "http://example.org:99999/a.zip": "Port out of range",
    "http://a..b/a.zip": "no name of a host",
    f"http://{'a' * 70}.org/a.zip": "no name of a host",
}


@pytest.mark.parametrize("given", WRONG)
def test_a_wrong_address_is_refused_before_anything_is_asked(call, tmp_path, given):
    one_line(call("data", "fetch", "CUB", "--data-root", tmp_path / "root", "--url", given), 2, WRONG[given])
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    "given",
    [
        "http://user:geheim@example.org/a.zip",
        "HTTP://geheim@example.org/a.zip",
        "http://user:ge heim@example.org/a.zip",
        "http://user:ge/heim@example.org/a.zip",
        "http://user:geheim@[::1/a.zip",
        "http://user:geheim@/a.zip",
        "ftp://user:geheim@example.org/a.zip",
        "user:geheim@example.org/a.zip",
        "http:/user:geheim@example.org/a.zip",
        "http:user:geheim@example.org/a.zip?token=geheim",
        "http://example.org:zip/a.zip?token=geheim",
    ],
)
def test_passwords_are_refused_and_not_shown(call, tmp_path, given):
    done = call("data", "fetch", "CUB", "--data-root", tmp_path, "--url", given)
    assert done.returncode == 2
    assert "example.org" in done.stderr or "example" not in given or "[" in given
    assert "heim" not in done.stderr + done.stdout
    with pytest.raises(UsageError) as caught:
        checked_address(given)
    assert "heim" not in str(caught.value)


def test_a_user_in_the_address_is_told_what_to_do():
    with pytest.raises(UsageError, match=r"'http://user:\*\*\*@example.org/a.zip': no user .* give an address without"):
        checked_address("http://user:geheim@example.org/a.zip")


def test_letters_beyond_ascii_and_capitals_are_asked_for(call, server, tmp_path):
    server.content = archive_of(tmp_path)
    url = server.url.replace("http", "HTTP").replace("xlsa17", "größe")
    done = call("data", "fetch", "CUB", "--url", url, "--data-root", tmp_path / "root")
    assert done.returncode == 0, done.stderr
    assert server.paths == ["/gr%C3%B6%C3%9Fe.zip"]


def test_the_address_that_failed_is_named_where_another_led_there(server, tmp_path):
    with serving(b"") as gone:
        other = gone.url
    server.leads_to = f"{other}?x=1&X-Amz-Signature=geheim&token=geheim"
    masked = rf"{other}\?x=1&X-Amz-Signature=\*\*\*&token=\*\*\*"
    with pytest.raises(DataError, match=rf"{server.url}, which leads to {masked}: .*refused, 5 times in a row"):
        fetch(server.url, tmp_path / "f.zip", pause=0)
    with serving(b"") as other_server:
        other_server.status, server.leads_to = 404, other_server.url
        with pytest.raises(DataError, match=rf"which leads to {other_server.url}: the server answers 404 Not Found"):
            fetch(server.url, tmp_path / "f.zip", pause=0)


@pytest.mark.parametrize(
    ("leads_to", "cause"),
    [
        ("ftp://example.org/a.zip", "which leads to ftp://example.org/a.zip: .*expected one that begins with http"),
        ("http://[::1/a.zip", "leads to an address that is none: Invalid IPv6 URL"),
        ("http://user:geheim@example.org/a.zip", r"which leads to http://user:\*\*\*@example.org/a.zip: no user"),
    ],
)
def test_a_way_to_what_is_no_address_is_gone_once(server, tmp_path, leads_to, cause):
    server.leads_to = leads_to
    with pytest.raises(DataError, match=cause):
        fetch(server.url, tmp_path / "f.zip", pause=0)
    assert len(server.asked) == 1


def test_a_way_that_leads_on_is_gone_and_resumed(server, tmp_path):
    with serving(bytes(range(256)) * 1000) as behind:
        behind.drops, server.leads_to = [1000], behind.url
        assert fetch(server.url, tmp_path / "f.zip", pause=0).read_bytes() == behind.content
        assert behind.asked == [None, "bytes=1000-"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/a.zip?X-Amz-Signature=secret&x=1", "https://h/a.zip?X-Amz-Signature=***&x=1"),
        ("http://h/a?signatures=att", "http://h/a?signatures=att"),
    ],
)
def test_what_signs_an_address_is_masked(url, shown):
    assert masked_url(url) == shown
