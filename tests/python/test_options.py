"""Options: typed down to the core, refused if unknown, pickled under old and new names, never shown."""

from __future__ import annotations

import math
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import _core, errors
from sapwood.options import reading
from sapwood.options.blocks import BlockOptions, Blocks
from sapwood.options.keywords import OpenKeywords
from sapwood.options.reading import OpenOptions, open_options

sys.path.append(str(Path(__file__).parent))
import http_fake as web

SECRET = "hunter2"


@pytest.mark.parametrize(
    "options",
    [
        _core.BlockOptions,
        _core.ChainOptions,
        _core.OpenOptions,
        _core.RetryPolicy,
        _core.StorageOptions,
        _core.WriteOptions,
    ],
)
def test_the_core_refuses_unknown_options(options: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'blokc'"):
        options(blokc=1)
    with pytest.raises(TypeError):
        options(1)


@pytest.mark.parametrize(
    ("call", "option", "meant"),
    [
        (sapwood.repack, "filter_name", "; did you mean 'keep'?"),
        (sapwood.merge, "filter_name", ""),
        (sapwood.repack, "options", ""),
        (sapwood.merge, "level", "; did you mean 'compression'?"),
        (sapwood.iterate, "columns", "; did you mean 'expressions'?"),
        (sapwood.concatenate, "entrystop", "; did you mean 'entry_stop'?"),
        (sapwood.open, "heders", "; did you mean 'headers'?"),
    ],
)
def test_an_unknown_option_names_the_function_and_what_may_be_meant(
    call: Any, option: str, meant: str, tmp_path: Path
) -> None:
    writes = call in (sapwood.repack, sapwood.merge)
    arguments = ["in.root", tmp_path / "out.root"] if writes else ["in.root:t"]
    with pytest.raises(TypeError) as caught:
        list(call(*arguments, **{option: "x"}))
    assert str(caught.value) == f"{call.__name__} has no option {option!r}{meant}"


def test_the_core_refuses_options_of_other_types() -> None:
    untyped: Any = _core
    with pytest.raises(TypeError):
        untyped.OpenOptions(storage={"region": "eu"})
    with pytest.raises(TypeError):
        untyped.File.open("nowhere.root", options={})
    with pytest.raises(errors.UsageError), errors.core.core_errors():
        _core.OpenOptions(read_timeout=-1.0)


def test_every_option_reaches_the_core() -> None:
    options = open_options(
        5.0,
        2,
        {
            "headers": {"X-Token": SECRET},
            "key": "me",
            "secret": SECRET,
            "storage_rules": {"s3://other/": {"anon": True}},
            "read_timeout": 10,
            "retry": sapwood.RetryPolicy(tries=2, backoff=0.5, longest_pause=1, budget=60),
            "sources": 3,
            "probe_interval": 0,
            "lazy_download": "1 MB",
            "scratch_size": "5 MB",
        },
    )
    core = options.for_core()
    assert SECRET not in repr(options) + repr(core)
    assert options.has_secrets
    assert options.storage == {"access_key_id": "me", "secret_access_key": SECRET}
    assert options.lazy_download == BlockOptions(block_size=1_000_000, scratch_size=5_000_000)


def test_options_are_pickled() -> None:
    retry = sapwood.RetryPolicy(tries=2)
    options = open_options(5.0, None, {"retry": retry, "lazy_download": True, "read_timeout": 3})
    assert pickle.loads(pickle.dumps(options)) == options


def test_options_of_older_pickles_are_found() -> None:
    blocks = Blocks.__new__(Blocks)
    blocks.__setstate__(
        {"block": 4096, "scratch": None, "cache": "/tmp/c", "cache_size": 9, "cache_max_age": None}
    )
    assert blocks == BlockOptions(block_size=4096, cache="/tmp/c", cache_size=9)
    state = {"deadline": 3.0, "threads": None, "headers": {}, "storage": {"region": "eu"}, "replicas": None}
    state |= {"sources": None, "blocks": blocks, "log": None, "bases": (("s3://b/", {"profile": "p"}),)}
    options = OpenOptions.__new__(OpenOptions)
    options.__setstate__(state)
    assert options == open_options(
        3.0,
        None,
        {
            "region": "eu",
            "lazy_download": 4096,
            "cache": "/tmp/c",
            "cache_size": 9,
            "bases": {"s3://b/": {"profile": "p"}},
        },
    )


@pytest.mark.parametrize("tries", [1, 2, 6])
def test_a_retry_policy_bounds_the_tries(events_file: Path, tries: int) -> None:
    with web.FakeServer(events_file.read_bytes()) as server:
        server.behave = lambda request: web.answer("503 Service Unavailable")
        with pytest.raises(errors.ServerError) as raised:
            sapwood.open(server.url + "/f.root", retry=sapwood.RetryPolicy(tries=tries, backoff=0.001))
    assert sum(event.times for event in raised.value.log) == tries - 1


def test_a_read_timeout_ends_a_silent_request(events_file: Path) -> None:
    with web.FakeServer(events_file.read_bytes()) as server:
        end = time.monotonic() + 0.7
        server.behave = lambda request: web.silence if time.monotonic() < end else None
        with sapwood.open(server.url + "/f.root", read_timeout=1, deadline=60) as file:
            assert file.report().retries >= 1


def test_values_are_checked(events_file: Path) -> None:
    with pytest.raises(TypeError, match=r"'retry' must be a sapwood\.RetryPolicy"):
        sapwood.open(events_file, retry=3)
    with pytest.raises(errors.UsageError, match="'read_timeout' must be a positive"):
        sapwood.open(events_file, read_timeout=0)
    with pytest.raises(errors.UsageError, match="'probe_interval' must be a number of seconds, or 0"):
        sapwood.open(events_file, probe_interval=-1)
    with pytest.raises(errors.UsageError, match="'tries' must be at least 1"):
        sapwood.RetryPolicy(tries=0)
    with pytest.raises(errors.UsageError, match="'budget' must be a number of seconds, at least 0"):
        sapwood.RetryPolicy(budget=-1)
    sapwood.open(events_file, retry=sapwood.RetryPolicy(budget=math.inf)).close()
    with pytest.raises(errors.UsageError, match="'lazy_download' must be at least 4096 bytes"):
        sapwood.open(events_file, lazy_download=4095)
    with pytest.raises(TypeError, match="did you mean 'read_timeout'"):
        sapwood.open(events_file, read_timeut=1)


def test_the_typed_keywords_of_open_are_those_that_it_takes() -> None:
    taken = [reading._CHECKS, reading.BLOCK_NAMES, reading.STORAGE_NAMES, reading._WITHOUT_EFFECT]
    names = {"timeout", *reading._OTHER_NAMES, *(name for some in taken for name in some)}
    assert set(OpenKeywords.__annotations__) == names
    assert open_options(None, None, dict.fromkeys(OpenKeywords.__annotations__)) == open_options(
        None, None, {}
    )
