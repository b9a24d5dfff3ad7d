"""The hierarchy of exceptions, and their stable codes."""

from __future__ import annotations

import builtins
import inspect
import pickle
from pathlib import Path

import pytest

from sapwood import _core, errors
from sapwood.errors.core import core_errors


def test_every_code_of_the_core_has_its_exception() -> None:
    assert set(errors.by_code()) == set(_core.error_codes)


def test_codes_are_documented_in_the_tree() -> None:
    drawing = inspect.getdoc(errors) or ""
    for code, kind in errors.by_code().items():
        assert any(kind.__name__ in line.split() and code in line.split() for line in drawing.splitlines())


def test_codes_never_change() -> None:
    released = {
        "not-found": "FileNotFoundError",
        "permission": "PermissionError",
        "usage": "UsageError",
        "not-root": "NotRootError",
        "corrupt": "CorruptFileError",
        "truncated": "TruncatedError",
        "checksum": "ChecksumError",
        "changed": "FileChangedError",
        "unsupported": "UnsupportedTypeError",
        "missing": "KeyInFileError",
        "timeout": "DeadlineError",
        "network": "NetworkError",
        "server": "ServerError",
        "io": "ReadError",
        "limit": "MemoryLimitError",
        "closed": "ClosedFileError",
        "cancelled": "CancelledError",
        "conflict": "ConflictError",
        "commit-unknown": "CommitUnknownError",
    }
    assert {code: kind.__name__ for code, kind in errors.by_code().items()} == released


@pytest.mark.parametrize(
    ("kind", "bases"),
    [
        (errors.FileNotFoundError, [builtins.FileNotFoundError, OSError]),
        (errors.PermissionError, [builtins.PermissionError]),
        (errors.UsageError, [ValueError]),
        (errors.KeyInFileError, [KeyError]),
        (errors.UnsupportedTypeError, [NotImplementedError]),
        (errors.TruncatedError, [errors.CorruptFileError, OSError, ValueError]),
        (errors.DeadlineError, [TimeoutError, OSError]),
        (errors.NetworkError, [ConnectionError, OSError]),
        (errors.ServerError, [OSError]),
        (errors.MemoryLimitError, [MemoryError]),
        (errors.ClosedFileError, [OSError, ValueError]),
    ],
)
def test_they_are_what_users_know(kind: type[Exception], bases: list[type[Exception]]) -> None:
    assert all(issubclass(kind, base) for base in [*bases, errors.SapwoodError])


@pytest.mark.parametrize("code", sorted(errors.by_code()))
def test_an_error_of_the_core_keeps_its_parts(code: str) -> None:
    with pytest.raises(errors.SapwoodError) as caught, core_errors():
        raise _core.CoreError(code, "it broke (in x)", "https://h/x.root", 12, "b", "try y")
    error = caught.value
    assert type(error) is errors.by_code()[code]
    assert (error.code, error.url, error.offset, error.branch, error.hint) == (
        code,
        "https://h/x.root",
        12,
        "b",
        "try y",
    )
    assert str(error) == "it broke (in x)"
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.offset, copy.hint) == (type(error), str(error), 12, "try y")


def test_a_missing_name_comes_with_the_nearest() -> None:
    error = errors.KeyInFileError.not_found("branch", "muon_pt", ["Muon_pt", "Muon_eta", "run"], "f.root:T")
    assert error.keys == ["Muon_pt", "Muon_eta"]
    assert "'Muon_pt'" in str(error) and "f.root:T" in str(error)
    assert "empty" in str(errors.KeyInFileError.not_found("key", "x", [], "f.root:/"))


def test_codes_are_those_of_the_rust_source() -> None:
    source = (Path(__file__).parents[2] / "crates/core/src/error.rs").read_text()
    for code in errors.by_code():
        assert f'"{code}"' in source
