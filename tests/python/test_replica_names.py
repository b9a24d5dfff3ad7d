"""The locations of replicas that follow from each kind of argument, and invalid arguments."""

from __future__ import annotations

from typing import Any

import pytest

import sapwood
from sapwood import errors
from sapwood.options.replicas import Places, is_document, replicas


@pytest.mark.parametrize(
    ("given", "name", "places"),
    [
        (["root://a//y/x.root", "https://b/x.root"], "/store/x.root", ["root://a//y/x.root", "https://b/x.root"]),
        (["root://a//", "https://b/p/"], "/store/x.root", ["root://a//store/x.root", "https://b/p/store/x.root"]),
        ("root://a:1/", "/store/x.root", ["root://a:1//store/x.root"]),
        ("s3://bucket/", "x.root", ["s3://bucket/x.root"]),
        (["root://b//"], "root://a//store/x.root?q=1", ["root://b//store/x.root"]),
        ({"root://a//": ["root://b//", "https://c/"]}, "root://a//s/x.root", ["root://b//s/x.root", "https://c/s/x.root"]),
        ({"root://a//": "root://b//"}, "root://other//x.root", []),
        ({"/s": ["root://b//t"]}, "/store/x.root", []),
        ({"/s/x.root": ["root://b//t/y.root"], "/s/": "http://c/"}, "/s/x.root", ["root://b//t/y.root", "http://c/x.root"]),
        (lambda name: [f"http://c{name}", "http://d/"], "/s/x.root", ["http://c/s/x.root", "http://d/s/x.root"]),
        (lambda name: None, "/s/x.root", []),
        (["http://a/x.root", "http://b/x.root", "http://b/x.root"], "http://a/x.root", ["http://b/x.root"]),
    ],
)  # fmt: skip
def test_places_follow_from_names(given: Any, name: str, places: list[str]) -> None:
    found = replicas(given)
    assert found is not None
    assert found.of(name) == Places(tuple(places))


def test_records_of_rucio_are_handed_on() -> None:
    record = {"name": "x.root", "pfns": {"http://a/x.root": {"rse": "A"}}}
    for given in (record, [record]):
        found = replicas(given)
        assert found is not None and "http://a/x.root" in found.of("x.root").documents[0]
        assert not found.names_one_file and not found.has_secrets
    signed = replicas({"rses": {"A": ["http://a/x.root?X-Signature=sesame"]}})
    assert signed is not None and signed.has_secrets


@pytest.mark.parametrize("given", [7, [7], [""], {"/a": 7}, lambda name: replicas(lambda name: [])])
def test_invalid_replicas_are_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"URL|not iterable|function"):
        found = replicas(given)
        assert found is not None
        found.of("x.root")
    with pytest.raises(errors.UsageError, match="pfns"):
        replicas([{"name": "x.root"}])


def test_a_friend_is_next_to_each_replica() -> None:
    found = replicas(["root://a//s/x.root", "http://b/", "list.meta4"])
    assert found is not None
    assert found.beside("y.root").items == ("root://a//s/y.root", "http://b/", "list.meta4")


def test_documents_are_known_by_their_names() -> None:
    assert is_document("https://h/x.META4?a=b") and is_document("r.json") and is_document("a.metalink")
    assert not is_document("https://h/x.root?a=.meta4") and not is_document("meta4")


def test_options_are_checked() -> None:
    with pytest.raises(errors.UsageError, match="at least 1"):
        sapwood.open("x.root", sources=0)
    with pytest.raises(TypeError, match="whole number"):
        sapwood.open("x.root", sources="2")
    with pytest.raises(errors.UsageError, match="path or URL"):
        sapwood.open(b"root", replicas=["http://a/x.root"])
    with pytest.raises(errors.UsageError, match="of one file"):
        next(sapwood.iterate(["/a.root:t", "/b.root:t"], replicas=["http://a/a.root"]))
