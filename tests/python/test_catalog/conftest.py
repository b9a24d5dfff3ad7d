"""Databases of both kinds, and datasets whose descriptions stand for real ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

import postgres_server

from sapwood import catalog
from sapwood.catalog import _source
from sapwood.errors import FileNotFoundError


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "catalogues" / "catalog.sqlite")
        return
    server: postgres_server.Server = request.getfixturevalue("postgres")
    with server.database() as url:
        yield url


@pytest.fixture
def catalogue(database: str) -> Iterator[catalog.Catalog]:
    with catalog.Catalog(database) as opened:
        yield opened


class Datasets:
    """What datasets say of themselves: logs and descriptions, by place."""

    def __init__(self) -> None:
        self.histories: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        self.tags: dict[str, dict[str, int]] = {}
        self.identities: dict[str, str] = {}
        self.expired: set[tuple[str, int]] = set()
        self.asked: list[tuple[str, int | None]] = []
        self._names = (f"{number:020d}" for number in itertools.count(1))

    def commit(
        self,
        url: str,
        operation: str,
        products: Mapping[str, int],
        *,
        entries: int = 1000,
        inputs: tuple[str, ...] = (),
        parameters: Mapping[str, str] | None = None,
        who: str | None = "ada",
    ) -> int:
        """A new version with these products, each with the version that wrote it; its number."""
        history = self.histories.setdefault(url, [])
        self.identities.setdefault(url, next(self._names))
        version = len(history) + 1
        time_ms = 1_790_000_000_000 + 60_000 * version
        named = {"snapshot": next(self._names), "parent": version - 1, "operation": operation}
        entry = {"n": version, **named, "job": None, "time_ms": time_ms, "oldest": 1, "who": who}
        made = {"operation": operation, "who": who, "tool": "sapwood 0.1.0", "time_ms": time_ms}
        made |= {"inputs": list(inputs), "parameters": dict(parameters or {})}
        described = {
            "url": url,
            "dataset": self.identities[url],
            "version": version,
            "snapshot": entry["snapshot"],
            "tree": "Events",
            "entries": entries,
            "made": made,
            "products": [
                {
                    "id": place,
                    "name": name,
                    "version": by,
                    "branches": 1 + 3 * (place % 5),
                    "entries": entries,
                    "bytes": entries * (10 + 7 * place),
                    "objects": 2 + place,
                }
                for place, (name, by) in enumerate(products.items())
            ],
            "segments": [{"id": number, "entries": 1000, "batch": 100} for number in range(entries // 1000)],
        }
        described["objects"] = sum(one["objects"] for one in described["products"])
        history.append((entry, described))
        return version

    def log(self, url: str, after: int, options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [entry for entry, _ in self._history(url) if entry["n"] > after]

    def describe(
        self, url: str, version: int | None, sizes: bool, options: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        self.asked.append((url, version))
        history = self._history(url)
        number = len(history) if version is None else version
        if (url, number) in self.expired:
            raise FileNotFoundError(f"{url}: version {number} has expired", url=url)
        described = {**history[number - 1][1], "tags": self.tags.get(url, {})}
        if not sizes:
            unknown = {"bytes": None, "objects": None}
            described["products"] = [{**one, **unknown} for one in described["products"]]
        return described

    def _history(self, url: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        if url not in self.histories:
            raise FileNotFoundError(f"there is no dataset at {url}", url=url)
        return self.histories[url]


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> Datasets:
    """Datasets that exist only as what they say of themselves."""
    made = Datasets()
    monkeypatch.setattr(_source, "_log", made.log)
    monkeypatch.setattr(_source, "_describe", made.describe)
    return made


@pytest.fixture
def family(datasets: Datasets, catalogue: catalog.Catalog) -> Datasets:
    """Three datasets in the catalogue: data, a selection of it, and one of two of these."""
    files = ("root://user:secret@example.org//data/a.root:Events", "/data/b.root:Events")
    datasets.commit("s3://bucket/data", "create", {"Muon": 1, "Jet": 1, "run": 1}, inputs=files)
    datasets.commit("s3://bucket/data", "append", {"Muon": 1, "Jet": 1, "run": 1}, entries=3000)
    datasets.commit("s3://bucket/data", "replace", {"Muon": 1, "Jet": 3, "run": 1}, entries=3000)
    datasets.tags["s3://bucket/data"] = {"spring": 2}
    skim = ("s3://bucket/data@v3",)
    datasets.commit("s3://bucket/skims/dimuon", "create", {"Muon": 1, "run": 1}, inputs=skim, who=None)
    both = ("s3://bucket/skims/dimuon@v1", "s3://bucket/data@spring", "s3://elsewhere/calibration@v7")
    datasets.commit("/local/trained", "create", {"Muon": 1, "Jet2": 1}, inputs=both)
    for url in datasets.histories:
        catalogue.add(url)
    return datasets
