"""Fixtures of the tests with other engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from served_files import Served, serving_events


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Twenty files over HTTP, and the same events as Parquet."""
    with serving_events(tmp_path_factory.mktemp("engines")) as served:
        yield served
