"""The hierarchy of exceptions, and their stable codes."""

from __future__ import annotations

import builtins
import inspect
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
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


def test_every_message_says_what_to_do() -> None:
    error = errors.UsageError("x is wrong", hint="write y instead")
    assert str(error) == error.message == "x is wrong; write y instead"
    assert error.hint == "write y instead"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.hint) == (str(error), error.hint)
    # A hint that is part of the sentence is not said twice.
    assert str(errors.UsageError("x is wrong: write y", hint="write y")) == "x is wrong: write y"
    of_text = errors.ExpressionError("'x' is too long", hint="define aliases")
    assert of_text.msg == str(of_text) == "'x' is too long; define aliases"


def test_a_missing_name_comes_with_the_nearest() -> None:
    error = errors.KeyInFileError.not_found("branch", "muon_pt", ["Muon_pt", "Muon_eta", "run"], "f.root:T")
    assert error.keys == ["Muon_pt", "Muon_eta"]
    assert "'Muon_pt'" in str(error) and "f.root:T" in str(error)
    assert "empty" in str(errors.KeyInFileError.not_found("key", "x", [], "f.root:/"))


def test_codes_are_those_of_the_rust_source() -> None:
    source = (Path(__file__).parents[2] / "crates/core/src/error.rs").read_text()
    for code in errors.by_code():
        assert f'"{code}"' in source


WRONG_ARGUMENTS: list[Callable[[Any], Any]] = [
    lambda tree: sapwood.open(tree.file.file_path, optoin=1),
    lambda tree: sapwood.open(3),
    lambda tree: sapwood.open(tree.file.file_path, headers=3),
    lambda tree: sapwood.open(tree.file.file_path, log=3),
    lambda tree: sapwood.open(tree.file.file_path, retry=3),
    lambda tree: sapwood.open(tree.file.file_path, deadline="soon"),
    lambda tree: sapwood.open({tree.file.file_path: 3}),
    lambda tree: tree.file[3],
    lambda tree: tree.file.keys(filter_classname=3),
    lambda tree: tree[3.5],
    lambda tree: tree.keys(filter_name=3),
    lambda tree: tree.keys(filter_branch=3),
    lambda tree: tree.arrays(3),
    lambda tree: tree.arrays("run", 3),
    lambda tree: tree.arrays("run", aliases={"a": 3}),
    lambda tree: tree.arrays("run", entry_start="first"),
    lambda tree: tree.arrays("run", entries=[1, [2]]),
    lambda tree: tree.arrays("run", ak_add_doc=3),
    lambda tree: tree.arrays("run", threads="all"),
    lambda tree: tree.arrays(virtual=True, profile=3),
    lambda tree: tree.iterate("run", step_size=1.5),
    lambda tree: tree.num_entries_for(None),
    lambda tree: tree.events(3),
    lambda tree: tree.events(caching=3),
    lambda tree: list(sapwood.iterate(3)),
    lambda tree: list(sapwood.iterate({tree.file.file_path: {"steps": 3}})),
    lambda tree: sapwood.concatenate(tree, "run", entry_start="first"),
    lambda tree: sapwood.repack(tree.file, "unused.root", cut=3),
    lambda tree: sapwood.repack(tree.file, "unused.root", entries=3),
    lambda tree: sapwood.repack(tree.file, "unused.root", basket_size=[]),
    lambda tree: sapwood.layout.layout_of(tree, 3),
]
WRONG_VALUES: list[Callable[[Any], Any]] = [
    lambda tree: tree.arrays("run", library="roots"),
    lambda tree: tree.arrays("run", how="zipped", library="np"),
    lambda tree: tree.arrays("run", entries=[-1]),
    lambda tree: tree.arrays("a", aliases={"a": "a + 1"}),
    lambda tree: tree.arrays("a0", aliases={f"a{i}": f"a{i + 1} + 1" for i in range(3000)}),
    lambda tree: tree.show(name_width=1),
    lambda tree: tree.iterate("run", step_size="1e99999 MB"),
    lambda tree: sapwood.repack(tree.file, "unused.root", compression="zstd:99"),
]
MALFORMED: list[tuple[Callable[[Any], Any], str, int]] = [
    (lambda tree: tree.arrays("run +"), "run +", 5),
    (lambda tree: tree.arrays("run", "run >"), "run >", 5),
    (lambda tree: tree.arrays("a", aliases={"a": "run ? 1"}), "run ? 1", 5),
    (lambda tree: tree.arrays("2 * a", aliases={"a": "run ? 1"}), "run ? 1", 5),
    (lambda tree: list(tree.iterate("run +")), "run +", 5),
    (lambda tree: tree.keys(filter_name="/[/"), "/[/", 2),
    (lambda tree: tree.events(filter_typename=["x", "/*/"]), "/*/", 2),
    (lambda tree: tree.num_entries_for("1 MB", "run +"), "run +", 5),
    (lambda tree: list(sapwood.iterate(tree, cut="run >")), "run >", 5),
    (lambda tree: sapwood.concatenate(tree, "run +"), "run +", 5),
    (lambda tree: sapwood.repack(tree.file, "unused.root", cut="run >"), "run >", 5),
    (lambda tree: sapwood.repack(tree.file, "unused.root", keep="/[/"), "/[/", 2),
    (lambda tree: tree.arrays("1 + (run & 0.5)"), "1 + (run & 0.5)", 6),
]


@pytest.mark.parametrize("call", WRONG_ARGUMENTS)
def test_an_argument_of_the_wrong_type(events_file: Path, call: Callable[[Any], Any]) -> None:
    with sapwood.open(events_file) as file, pytest.raises(errors.ArgumentTypeError) as caught:
        call(file["Events"])
    assert isinstance(caught.value, TypeError) and caught.value.code == "usage"


@pytest.mark.parametrize("call", WRONG_VALUES)
def test_an_argument_of_the_wrong_value(events_file: Path, call: Callable[[Any], Any]) -> None:
    with sapwood.open(events_file) as file, pytest.raises(errors.UsageError):
        call(file["Events"])


@pytest.mark.parametrize(("call", "expression", "column"), MALFORMED)
def test_a_malformed_expression(
    events_file: Path, call: Callable[[Any], Any], expression: str, column: int
) -> None:
    with sapwood.open(events_file) as file, pytest.raises(errors.ExpressionError) as caught:
        call(file["Events"])
    error = caught.value
    assert isinstance(error, (ValueError, SyntaxError))
    assert (error.expression, error.column) == (expression, column)
    assert expression in str(error) and f"(column {column})" in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.expression, copy.column) == (str(error), expression, column)
    assert str(error) in "".join(traceback.format_exception(error))


def test_errors_of_a_callback_are_its_own(tmp_path: Path) -> None:
    def broken(events: Any) -> Any:
        raise TypeError("mine")

    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.arange(3)}
    dataset = sapwood.stripe.create(tmp_path / "set", f"{tmp_path}/a.root:t")
    with pytest.raises(TypeError, match="mine") as raised:
        dataset.add_product("Y", broken, ["x"])
    assert type(raised.value) is TypeError
    with pytest.raises(errors.ArgumentTypeError, match="'by_position' is wrong: 'int' object"):
        dataset.add(f"{tmp_path}/a.root:t", by_position=3)  # type: ignore[arg-type]
