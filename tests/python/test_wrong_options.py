"""Whatever sapwood raises for a wrong option is a SapwoodError, for every option of every public function."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood.errors import SapwoodError

WRONG: list[Any] = [
    object(),
    -1,
    0,
    1.5,
    float("nan"),
    "no\x00nsense",
    "",
    "a b(",
    b"x",
    [],
    [1],
    {1: 2},
    (1, 2, 3),
]
"""Values, most of which are wrong for any option."""

HANGS = {"progress", "stream", "files", "sources", "allow_missing"}
"""Options that are not tried here: functions and streams of the caller, and inputs."""


def write(path: Path) -> str:
    with sapwood.recreate(path) as file:
        file["Events"] = {"x": np.arange(10), "y": np.arange(10.0)}
    return str(path)


def calls(folder: Path) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Public functions, and arguments with which they work."""
    path = write(folder / "in.root")
    file = sapwood.open(path)
    tree = file["Events"]
    return {
        "open": (sapwood.open, (path,)),
        "iterate": (sapwood.iterate, (path,)),
        "concatenate": (sapwood.concatenate, (path,)),
        "num_entries": (sapwood.num_entries, (path,)),
        "verify": (sapwood.verify, (path,)),
        "repack": (sapwood.repack, (path, folder / "out.root")),
        "merge": (sapwood.merge, ([path], folder / "out.root")),
        "recreate": (sapwood.recreate, (folder / "new.root",)),
        "example": (sapwood.example, (folder / "example.root",)),
        "Tree.arrays": (tree.arrays, ()),
        "Tree.iterate": (tree.iterate, ()),
        "Tree.events": (tree.events, ()),
        "Tree.lazy": (tree.lazy, ()),
        "Tree.num_entries_for": (tree.num_entries_for, ("1 MB",)),
        "Tree.keys": (tree.keys, ()),
        "Branch.array": (tree["x"].array, ()),
        "File.keys": (file.keys, ()),
        "Background": (partial(sapwood.Background, seed=1), (path, ["x"])),
        "Caching": (sapwood.Caching, ()),
        "RetryPolicy": (sapwood.RetryPolicy, ()),
        "stripe.create": (sapwood.stripe.create, (folder / "set", f"{path}:Events")),
        "stripe.open": (sapwood.stripe.open, (folder / "set",)),
        "cache.contents": (sapwood.cache.contents, ()),
        **{f"Dataset.{name}": (call, ()) for name, call in dataset_calls(folder, path).items()},
    }


def dataset_calls(folder: Path, path: str) -> dict[str, Callable[..., Any]]:
    """Methods of a dataset; what they need has a default here, so that it is tried like an option."""
    dataset = sapwood.stripe.create(folder / "made", f"{path}:Events")

    def twice(events: Any) -> dict[str, Any]:
        return {"twice": np.zeros(len(events))}

    return {
        "append": partial(dataset.append, f"{path}:Events"),
        "add": partial(dataset.add, f"{path}:Events"),
        "add_product": lambda name="twice", columns=("x",): dataset.add_product(name, twice, columns),
        "add_base": lambda url="base", who=None: dataset.add_base(url, who),
        "commit": lambda receipts=(): dataset.commit([receipts]),
        "consolidate": dataset.consolidate,
        "drop": lambda products="x", who=None: dataset.drop(products, who=who),
        "restore": lambda version=2, who=None: dataset.restore(version, who),
        "tag": lambda name="t", version=None: dataset.tag(name, version),
        "untag": lambda name="t": dataset.untag(name),
        "verify": dataset.verify,
        "expire": dataset.expire,
        "gc": dataset.gc,
        "statistics": lambda product="x", version=None: dataset.statistics(product, version),
        "excluded": lambda cut="x > 1", version=None: dataset.excluded(cut, version),
        "log": dataset.log,
        "find": lambda run=1, lumi=1, event=1, version=None: dataset.find(run, lumi, event, version=version),
        "describe": dataset.describe,
        "copy_to": lambda url=folder / "copy": dataset.copy_to(url),
    }


NAMES = [
    "open",
    "iterate",
    "concatenate",
    "num_entries",
    "verify",
    "repack",
    "merge",
    "recreate",
    "example",
    "Tree.arrays",
    "Tree.iterate",
    "Tree.events",
    "Tree.lazy",
    "Tree.num_entries_for",
    "Tree.keys",
    "Branch.array",
    "File.keys",
    "Background",
    "Caching",
    "RetryPolicy",
    "stripe.create",
    "stripe.open",
    "cache.contents",
    *(
        f"Dataset.{name}"
        for name in (
            *("append", "add", "add_product", "add_base", "commit", "consolidate", "drop", "restore", "tag"),
            *("untag", "verify", "expire", "gc", "statistics", "excluded", "log", "find", "describe"),
            "copy_to",
        )
    ),
]

OPEN = (
    "headers",
    "probe_interval",
    "read_timeout",
    "retry",
    "replicas",
    "endpoint",
    "region",
    "anonymous",
    "profile",
    "cache",
    "cache_form",
    "lazy_download",
    "cache_size",
    "cache_max_age",
    "scratch_size",
    "storage_rules",
    "path_style",
    "log",
    "timeout",
)
"""Options of `open` that come as keyword arguments."""


def options(function: Callable[..., Any], given: int) -> Iterator[str]:
    for parameter in list(inspect.signature(function).parameters.values())[given:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            yield from OPEN if "options" in parameter.name else ()
        elif parameter.default is not parameter.empty and parameter.name not in HANGS:
            yield parameter.name


@pytest.mark.parametrize("name", NAMES)
def test_wrong_options_raise_only_errors_of_sapwood(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = calls(tmp_path)
    assert set(found) == set(NAMES)
    function, arguments = found[name]
    bad = []
    for option in options(function, len(arguments)):
        for value in WRONG:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = function(*arguments, **{option: value})
                    if hasattr(result, "__next__"):
                        list(result)
            except (SapwoodError, ImportError):
                pass
            except Exception as error:
                bad.append(f"{option}={value!r}: {error!r}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    ("method", "option", "meant"),
    [
        ("keys", "filter", "filter_name"),
        ("itervalues", "filter_nam", "filter_name"),
        ("typenames", "recursiv", "recursive"),
        ("arrays", "report", None),
        ("arrays", "entry_strat", "entry_start"),
        ("iterate", "reprot", "report"),
        ("show", "full_path", "full_paths"),
        ("num_entries_for", "fliter_name", "filter_name"),
    ],
)
def test_an_unknown_option_of_a_method_is_named_with_what_was_called(
    tmp_path: Path, method: str, option: str, meant: str | None
) -> None:
    with sapwood.open(write(tmp_path / "a.root")) as file:
        for found in (file["Events"], file["Events"]["x"]):
            required = ("1 MB",) if method == "num_entries_for" else ()
            with pytest.raises(sapwood.errors.ArgumentTypeError) as raised:
                getattr(found, method)(*required, **{option: 3})
            hint = f"; did you mean {meant!r}?" if meant else ""
            assert str(raised.value) == f"{method} has no option {option!r}{hint}"


def test_an_unknown_option_of_a_directory_is_named_with_what_was_called(tmp_path: Path) -> None:
    with sapwood.open(write(tmp_path / "a.root")) as file:
        for method in ("keys", "values", "items", "classnames", "iterclassnames", "iteritems", "iterkeys"):
            with pytest.raises(TypeError, match=rf"^{method} has no option 'filter'; did you mean"):
                getattr(file, method)(filter="x")


def test_arguments_without_names_are_counted_in_the_terms_of_the_caller(tmp_path: Path) -> None:
    tree = sapwood.open(f"{write(tmp_path / 'a.root')}:Events")
    with tree, pytest.raises(TypeError, match=r"^arrays takes at most 2 arguments without names"):
        tree.arrays("x", None, 3)
