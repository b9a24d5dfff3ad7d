"""A dataset is refused by a store that does not meet the requirements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import s3_server
import stripe_faults_work as work

from sapwood import errors, stripe

lack = s3_server.missing("s3s-fs")
pytestmark = pytest.mark.skipif(lack is not None, reason=f"what stores must do is not tested: {lack}")


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> Iterator[s3_server.Server]:
    with s3_server.careless_server() as server:
        for name, value in server.variables.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.mark.parametrize("log", ["beside the objects", "in a database"])
def test_a_server_whose_conditional_writes_are_not_atomic_is_refused(
    careless: s3_server.Server, tmp_path: Path, log: str
) -> None:
    where = str(tmp_path / "log.sqlite") if log == "in a database" else None
    with pytest.raises(errors.UnsupportedTypeError, match="cannot hold a dataset") as refused:
        stripe.create("s3://data/ttbar", work.write(tmp_path, 0), batch=20, log=where)
    assert "If-None-Match" in str(refused.value)
    assert careless.listed("") == {}
