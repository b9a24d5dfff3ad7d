"""Old names of modules work in imports and in pickles."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import pytest

import sapwood
from sapwood._moved import NOW
from sapwood.errors.log import SourceEvent

RENAMED = {"Blocks": "BlockOptions", "Line": "Link"}
"""The present names of classes whose former names stay importable."""

PICKLED = [
    "_blocks Blocks",
    "_lazy_reader Caching",
    "_paths FileSpec",
    "_replicas Replicas",
    "background Background",
    "branch Branch",
    "branch Interpretation",
    "branch _reopen",
    "cache CachedFile",
    "cache Verified",
    "catalog Dataset",
    "catalog Match",
    "catalog Product",
    "catalog Related",
    "catalog Version",
    "catalog._log DatabaseLog",
    "chain.running ChainReport",
    "chain.sweep ChainPoint",
    "chain.sweep Measurement",
    "chain.sweep Sweep",
    "compression Compression",
    "directory SubDirectory",
    "edm.lumis LumiMask",
    "edm.metadata ProcessInfo",
    "edm.metadata ProductInfo",
    "edm.names ProductName",
    "errors KeyInFileError",
    "errors SapwoodError",
    "events Event",
    "events Events",
    "file File",
    "layout Basket",
    "layout BranchLayout",
    "layout TreeLayout",
    "lazy LazyChunks",
    "lazy_use ColumnUse",
    "lazy_use KindUse",
    "lazy_use LazyFetch",
    "lazy_use LazyUse",
    "monitoring._record FileRecord",
    "multi concatenate",
    "objects.histogram Histogram",
    "opening open",
    "options OpenOptions",
    "profile Profile",
    "profile TreeUse",
    "repacking RepackReport",
    "repacking repack",
    "replaying Line",
    "replaying Replay",
    "report FetchedRange",
    "report ReadReport",
    "report Report",
    "sources SourceUse",
    "stripe._results Written",
    "story SourceEvent",
    "tree Tree",
    "tree _reopen",
    "tune.points Point",
    "tune.points Workload",
    "tune.results Measured",
    "tune.tuning Tuning",
    "verifying FileReport",
    "verifying Finding",
    "verifying TreeReport",
    "verifying VerifyProgress",
    "verifying VerifyReport",
    "xaod Container",
]
"""What pickles of earlier versions name: modules, and classes and functions in them."""


@pytest.mark.parametrize("named", PICKLED)
def test_an_old_pickle_finds_what_it_names(named: str) -> None:
    module, name = named.split()
    found = pickle.loads(f"csapwood.{module}\n{name}\n.".encode())
    assert found.__name__ == RENAMED.get(name, name)
    # What is pickled from now on is the same thing.
    assert pickle.loads(pickle.dumps(found)) is found


@pytest.mark.parametrize("old", sorted(NOW))
def test_a_module_is_there_once(old: str) -> None:
    module = importlib.import_module(f"sapwood.{old}")
    assert module is importlib.import_module(f"sapwood.{NOW[old]}")


def test_modules_inside_of_a_package_moved_with_it() -> None:
    from sapwood.edm import names as by_new
    from sapwood.edm.names import ProductName

    assert ProductName is by_new.ProductName
    assert sys.modules["sapwood.edm.names"] is sys.modules["sapwood.integrations.edm.names"]


@pytest.mark.parametrize(
    "statement",
    [
        "import sapwood.edm, sapwood.xaod; sapwood.edm.open, sapwood.xaod.containers",
        "import sapwood.edm.parameters as p; p.decode",
        "from sapwood import cache, chain, edm, layout, tune, xaod; layout.draw, cache.contents, chain.run",
        "import sapwood; sapwood.layout.draw, sapwood.cache.contents, sapwood.chain.run, sapwood.tune.run",
        "from sapwood.verifying import FileReport; from sapwood.story import SourceEvent",
        "from sapwood.tree import Tree; import sapwood; assert Tree is sapwood.Tree",
        "from sapwood.lazy import LazyChunks; from sapwood.events import Event",
        "import sapwood; sapwood.directory.TREE_CLASSES, sapwood.lazy_use.LazyUse, sapwood.multi.iterate",
        "from sapwood.report import ReadReport; import sapwood; assert ReadReport is sapwood.ReadReport",
    ],
)
def test_documented_imports_work_in_a_fresh_process(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)


def test_attributes_are_found_by_the_names_that_they_had() -> None:
    event = SourceEvent(0.1, "host:1094", "retried", "again")
    report = sapwood.ReadReport.from_counters("a.root", {"turnarounds": 3}, log=[tuple(event)])
    assert report.turnarounds == report.round_trips == 3 and report.story == report.log == (event,)
    error = sapwood.errors.ReadError("lost")
    error.add_log([event])
    assert error.story == error.log == (event,)


def test_a_report_that_an_earlier_version_pickled_is_read() -> None:
    report = sapwood.ReadReport.from_counters("a.root", {"turnarounds": 3})
    state = dict(vars(report))
    state["turnarounds"], state["story"] = state.pop("round_trips"), state.pop("log")
    old = object.__new__(sapwood.ReadReport)
    old.__setstate__(state)
    assert old == report and "turnarounds" not in old.to_dict()
    error = pickle.loads(pickle.dumps(sapwood.errors.ReadError("lost")))
    error.__setstate__({"story": (SourceEvent(0.1, None, "failed", ""),)})
    assert error.log[0].event == "failed"


def test_names_that_never_existed_are_missing() -> None:
    for name in ("sapwood.nothing", "sapwood.edm.nothing", "sapwood.tree.nothing"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sapwood.nothing
