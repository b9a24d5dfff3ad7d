"""scripts/check_python_layers.py finds imports against the order of packages, and `make layers` runs it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import check_python_layers
import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Three packages, one above the other, as they are meant."""
    files = {
        "__init__.py": "import importlib",
        "low/__init__.py": "",
        "low/words.py": "from .. import _core",
        "middle/__init__.py": "from .tree import Tree",
        "middle/tree.py": "from ..low.words import word",
        "top.py": "from .middle.tree import Tree",
    }
    for name, text in files.items():
        file = tmp_path / "plant" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    return tmp_path / "plant"


ORDER = ["low", "middle", "top", ""]


def add(package: Path, name: str, text: str) -> None:
    file = package / name
    file.write_text(f"{file.read_text(encoding='utf-8') if file.exists() else ''}{text}\n", encoding="utf-8")


def test_the_package_is_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_python_layers.main() == 0, capsys.readouterr().err


def test_make_layers_runs_every_check() -> None:
    dry = subprocess.run(
        ["make", "-n", "layers"], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60
    )
    (loop,) = (line for line in dry.stdout.splitlines() if "check_$check" in line)
    assert {"layers", "python_layers", "module_cycles"} <= set(loop.replace(";", " ").split())


def test_a_sound_package_has_no_problems(package: Path) -> None:
    assert check_python_layers.problems(package, ORDER) == []


@pytest.mark.parametrize(
    "text",
    [
        "from ..middle import tree",
        "def late():\n    from ..middle.tree import Tree",
        "class A:\n    def late(self):\n        if self:\n            import plant.middle.tree",
        "try:\n    from plant.middle.tree import Tree\nexcept ImportError:\n    pass",
    ],
)
def test_a_cycle_is_printed_module_by_module(package: Path, text: str) -> None:
    add(package, "low/words.py", text)
    cycle = next(one for one in check_python_layers.problems(package, ORDER) if "cycle" in one)
    _, *steps = cycle.split("\n")
    line = 1 + len(text.split("import")[0].split("\n"))
    assert sorted(steps) == [
        f"  plant/low/words.py:{line}: plant.low.words imports plant.middle.tree",
        "  plant/middle/tree.py:1: plant.middle.tree imports plant.low.words",
    ]


def test_a_longer_cycle_is_found_once(package: Path) -> None:
    add(package, "top.py", "from . import other")
    add(package, "other.py", "def late():\n    from .low import more")
    add(package, "low/more.py", "import plant.top")
    order = [*ORDER[:-1], "other", ""]
    (cycle,) = (one for one in check_python_layers.problems(package, order) if "cycle" in one)
    assert [line.split(": ")[0].strip() for line in cycle.split("\n")[1:]] == [
        "plant/low/more.py:1",
        "plant/top.py:2",
        "plant/other.py:2",
    ]


def test_an_import_upward_is_refused(package: Path) -> None:
    add(package, "low/more.py", "\n\ndef late():\n    from ..top import Tree")
    assert check_python_layers.problems(package, ORDER) == [
        "plant/low/more.py:4: plant.low.more imports plant.top, which is not above it in the table"
    ]


def test_no_module_imports_the_whole_package(package: Path) -> None:
    add(package, "top.py", "def late():\n    import plant")
    (problem,) = check_python_layers.problems(package, ORDER)
    assert problem == "plant/top.py:3: plant.top imports plant, which is not above it in the table"


@pytest.mark.parametrize("name", ["plant.top", ".top"])
def test_no_module_imports_another_by_a_name_in_a_string(package: Path, name: str) -> None:
    add(
        package,
        "low/words.py",
        f"import importlib\nimportlib.import_module('json')\nimportlib.import_module({name!r}, __package__)",
    )
    (problem,) = check_python_layers.problems(package, ORDER)
    assert problem.startswith("plant/low/words.py:4: imports a module by a name in a string")


def test_the_packages_around_a_module_are_imported_with_it(package: Path) -> None:
    # Python runs ``middle/__init__`` before ``middle/leaf``, which would import nothing itself.
    add(package, "middle/leaf.py", "")
    add(package, "low/words.py", "from ..middle.leaf import x")
    assert any(
        "plant.low.words imports plant.middle," in one for one in check_python_layers.problems(package, ORDER)
    )


def test_a_module_is_imported_by_its_own_name(package: Path) -> None:
    # Old names are for users: behind one, an import upward would not be seen.
    add(package, "low/words.py", "from ..gone import Tree")
    (problem,) = check_python_layers.problems(package, ORDER)
    assert (
        problem
        == "plant/low/words.py:2: plant.low.words imports plant.gone, which does not exist by this name"
    )


def test_imports_for_types_do_not_count(package: Path) -> None:
    text = "if TYPE_CHECKING:\n    from ..middle.tree import Tree\nelse:\n    from .. import _core"
    add(package, "low/words.py", text)
    assert check_python_layers.problems(package, ORDER) == []


def test_the_table_and_the_package_are_the_same(package: Path) -> None:
    found = check_python_layers.problems(package, ["low", "gone", "top", ""])
    assert "plant/middle is missing from the table" in found
    assert "plant/gone is in the table, but does not exist" in found


def test_rows_are_read_from_the_table() -> None:
    text = "| `crates/core` | x |\n| `sapwood/low` | its role |\n| `sapwood/top` | a |\n| `sapwood` | all |\n"
    assert check_python_layers.table(text) == ["low", "top", ""]
