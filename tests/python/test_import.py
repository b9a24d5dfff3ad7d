"""Importing sapwood is light, and NumPy is the only required dependency."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LATER = [
    *("catalog", "history", "integrations", "lazy", "monitoring", "objects", "report", "stripe", "studies"),
    *("writing", "query.excluding"),
]
"""Packages and modules that a plain read does not need; each is imported when it is first used."""
OPTIONAL = ["awkward", "pandas", "pyarrow", "typer", "rich", "uproot", "sqlalchemy"]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_reading_imports_no_optional_package(events_file: object) -> None:
    code = f"""
import sys, sapwood
tree = sapwood.open({str(events_file)!r} + ":Events")
tree.arrays(["met", "Jet_pt"], "met > 10", library="np")
print([name for name in {OPTIONAL!r} if name in sys.modules])
"""
    assert run(code).strip() == "[]"


def test_opening_and_reading_import_only_what_they_use(events_file: object) -> None:
    code = f"""
import sys, sapwood
tree = sapwood.open({str(events_file)!r} + ":Events")
tree.arrays(["met", "Jet_pt"], library="np")
print([name for name in {LATER!r} if f"sapwood.{{name}}" in sys.modules])
tree.file.report()
print("sapwood.report" in sys.modules)
"""
    assert run(code).splitlines() == ["[]", "True"]


def test_without_the_optional_packages_numpy_still_works(events_file: object) -> None:
    code = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in {OPTIONAL!r} else real(name, *rest)
import sapwood
tree = sapwood.open({str(events_file)!r} + ":Events")
print(len(tree.arrays(["met * 2", "Jet_pt"], "met > 0", library="np")["Jet_pt"]))
for library in ("ak", "pd", "arrow"):
    try:
        tree.arrays(library=library)
    except ImportError as error:
        print("pip install" in str(error))
try:
    tree.arrays("Jet_pt * 2", library="np")
except ImportError as error:
    print("pip install awkward" in str(error))
"""
    assert run(code).split() == ["1000", "True", "True", "True", "True"]


def test_the_package_alone_does_not_even_import_numpy() -> None:
    assert run("import sys, sapwood; print('numpy' in sys.modules)").strip() == "False"


def test_names_are_all_there() -> None:
    code = """
import sapwood
for name in sapwood.__all__:
    assert getattr(sapwood, name) is not None, name
assert set(sapwood.__all__) <= set(dir(sapwood))
try:
    sapwood.nothing
except AttributeError:
    print("ok")
"""
    assert run(code).strip() == "ok"


def test_packages_are_there_after_a_plain_import() -> None:
    code = """
import sys, sapwood
assert not {"sapwood.stripe", "sapwood.catalog", "sapwood.options.cache"} & set(sys.modules)
assert "sqlalchemy" not in sys.modules
print(callable(sapwood.stripe.open), callable(sapwood.catalog.Catalog), callable(sapwood.cache.contents))
"""
    assert run(code).split() == ["True"] * 3


def test_tools_can_look_at_all_that_is_listed() -> None:
    assert run("import inspect, sapwood; print(len(inspect.getmembers(sapwood)) > 30)").strip() == "True"


def test_a_thread_that_imports_may_end_before_others_read(events_file: object) -> None:
    # A new thread often gets the address of one that ended, by which allocators know threads.
    code = f"""
import threading
def read():
    import sapwood
    print(len(sapwood.open({str(events_file)!r} + ":Events")["met"].array(library="np")))
for _ in range(5):
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
"""
    assert run(code).split() == ["1000"] * 5


def test_writing_does_not_load_what_reads(tmp_path: Path) -> None:
    code = f"""
import sys, numpy, sapwood
with sapwood.recreate({str(tmp_path / "new.root")!r}) as file:
    file["tree"] = {{"x": numpy.zeros(3)}}
print([name for name in ("model", "query", "opening", "lazy") if f"sapwood.{{name}}" in sys.modules])
"""
    assert run(code).strip() == "[]"


def test_dir_lists_only_public_names() -> None:
    code = """
import sapwood
sapwood.open, sapwood.errors
names = [name for name in dir(sapwood) if not name.startswith("__")]
print(sorted(set(names) - set(sapwood.__all__)))
print(sapwood.SapwoodError is sapwood.errors.SapwoodError)
"""
    assert run(code).splitlines() == ["[]", "True"]
