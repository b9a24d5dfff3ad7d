"""The web page of a catalogue: its content, and its security."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from web_page import ask

from sapwood.catalog import Catalog
from sapwood.catalog.web import CatalogPage

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = "<script>document.title='taken'</script>"
DATA = "s3://bucket/data"


@pytest.fixture
def database(tmp_path: Path) -> str:
    """One is enough: the page asks what the tests of catalogues ask of both."""
    return str(tmp_path / "catalog.sqlite")


@pytest.fixture
def page(catalogue: Catalog) -> Iterator[CatalogPage]:
    served = CatalogPage("127.0.0.1", 0, catalogue)
    yield served
    served.close()


def test_datasets_are_listed_and_searched(family: Any, page: CatalogPage) -> None:
    assert "3 datasets in the catalogue" in ask(page.address, "/")[2]
    found = ask(page.address, "/?q=bucket&product=Jet&at_least=2")[2]
    assert "1 dataset found" in found and "Jet v3" in found and "dimuon" not in found
    assert 'value="bucket"' in found
    assert "No matching datasets" in ask(page.address, "/?q=nothing")[2]


def test_an_empty_catalogue_says_how_to_fill_it(page: CatalogPage) -> None:
    assert "sapwood catalog add" in ask(page.address, "/")[2]


def test_a_dataset_has_products_versions_and_lineage(family: Any, page: CatalogPage) -> None:
    status, _, text = ask(page.address, "/dataset?name=data")
    assert status == 200
    for expected in ("Products of version 3", "replace", "spring", DATA, "dimuon", "trained", "a.root"):
        assert expected in text
    assert "Products of version 1" in ask(page.address, "/dataset?name=data&version=1")[2]
    assert ask(page.address, "/dataset?name=data&version=99")[0] == 404


def test_lists_that_are_long_are_turned_over(datasets: Any, catalogue: Catalog, page: CatalogPage) -> None:
    for number in range(101):
        datasets.commit(f"/data/{number:03d}", "create", {"x": 1})
        catalogue.add(f"/data/{number:03d}")
    first = ask(page.address, "/?q=data")[2]
    assert "101 datasets" in first and ">099<" in first and ">100<" not in first
    assert 'href="/?q=data&amp;page=1"' in first
    assert ">100<" in ask(page.address, "/?q=data&page=1")[2]


def test_names_are_shown_as_text_only(datasets: Any, catalogue: Catalog, page: CatalogPage) -> None:
    datasets.commit(f"/{HOSTILE}", HOSTILE, {HOSTILE: 1}, inputs=(HOSTILE,), who=HOSTILE)
    datasets.tags[f"/{HOSTILE}"] = {HOSTILE: 1}
    catalogue.add(f"/{HOSTILE}", name=HOSTILE)
    for form in ("/", "/?q={}", "/?product={}", "/dataset?name={}"):
        status, _, text = ask(page.address, form.format(quote(HOSTILE)))
        assert status == 200 and "&lt;script&gt;" in text and "<script" not in text
    assert "<script" not in ask(page.address, f"/dataset?name={quote(HOSTILE)}x")[2]


def test_the_page_stands_alone_and_lets_nothing_in(family: Any, page: CatalogPage) -> None:
    status, headers, text = ask(page.address, "/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
    assert not re.findall(r'(?:src|href)="(?!/)', text) and "http" not in text.split("<body>")[0]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert text.count(nonce) == 1 and nonce not in ask(page.address, "/")[2]


def test_it_only_reads(family: Any, page: CatalogPage) -> None:
    status, headers, text = ask(page.address, "/dataset?name=data", "HEAD")
    assert status == 200 and text == "" and int(headers["Content-Length"]) > 1000
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert ask(page.address, "/", method)[0] == 501
    assert ask(page.address, "/", Host="evil.example:80")[0] == 403
    assert ask(page.address, "/", Host=f"localhost:{page.address[1]}")[0] == 200


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/../../etc/passwd", 404),
        ("/dataset", 404),
        ("/dataset?name=nothing", 404),
        ("/?page=99999999999999999", 200),
        ("/?page=-1&at_least=x", 200),
        ("/?at_least=9999999999999999999", 200),
        ("/?q=%00", None),
        ("/?q=%ff%25%5C", 200),
        ("/dataset?name=data&version=9223372036854775808", 404),
    ],
)
def test_odd_questions(family: Any, page: CatalogPage, path: str, expected: int | None) -> None:
    assert ask(page.address, path)[0] in ((200, 503) if expected is None else (expected,))


def test_a_database_that_is_gone_is_reported_without_its_password(
    postgres: Any, datasets: Any, tmp_path: Path
) -> None:
    with postgres.database() as url, Catalog(url) as catalogue:
        page = CatalogPage("127.0.0.1", 0, catalogue)
        try:
            assert ask(page.address, "/")[0] == 200
            shown = f"postgresql://127.0.0.1:{postgres.port}/{url.rpartition('/')[2]}"
            assert shown in ask(page.address, "/")[2] and postgres.password not in ask(page.address, "/")[2]
            postgres.drop(url)
            status, _, text = ask(page.address, "/")
            assert status == 503 and postgres.password not in text and "cannot be read" in text
        finally:
            page.close()


@pytest.mark.skipif(BROWSER is None, reason="no browser (Debian and Ubuntu: apt install chromium)")
class TestBrowser:
    """What a real browser makes of it."""

    def look(self, tmp_path: Path, url: str, *arguments: str) -> str:
        options = [
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={tmp_path / 'profile'}",
        ]
        if os.getuid() == 0:
            options.append("--no-sandbox")
        done = subprocess.run(
            [str(BROWSER), *options, "--enable-logging=stderr", *arguments, url],
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr
        # The browser reports on the console what breaks the page's own policy, or is not found.
        assert "CONSOLE" not in done.stderr, done.stderr
        return done.stdout

    def test_the_list_and_a_dataset_are_shown(self, family: Any, page: CatalogPage, tmp_path: Path) -> None:
        listed = self.look(tmp_path, f"{page.url}?q=data", "--dump-dom")
        assert "1 dataset found" in listed and "s3://bucket/data" in listed
        shown = self.look(tmp_path, f"{page.url}dataset?name=data", "--dump-dom")
        assert "<h1>data</h1>" in shown and "<meter" in shown
        picture = tmp_path / "page.png"
        size = ("--window-size=900,900", "--hide-scrollbars")
        self.look(tmp_path, f"{page.url}dataset?name=data", f"--screenshot={picture}", *size)
        content = picture.read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n" and len(content) > 20_000

    def test_the_styles_are_taken_and_scripts_are_not(
        self, datasets: Any, catalogue: Catalog, page: CatalogPage, tmp_path: Path
    ) -> None:
        datasets.commit("/data", HOSTILE, {HOSTILE: 1}, who=HOSTILE)
        catalogue.add("/data")
        shown = self.look(tmp_path, f"{page.url}dataset?name=data", "--dump-dom")
        assert "<title>data · sapwood catalogue</title>" in shown
