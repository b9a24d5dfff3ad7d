"""Checks the imports of python/sapwood: no cycles, and none against the order of packages in ARCHITECTURE.md.

These count as imports (arrows):

- every ``import`` of a module of sapwood, including those inside functions, which run at the first call;
- the packages around the imported module that are not around the importing one, because Python runs their
  ``__init__`` first;
- ``import_module("sapwood.…")``, which only ``sapwood/startup`` may call: it imports ``sapwood.uproot`` into
  programs that have just imported uproot;
- but not imports under ``if TYPE_CHECKING:``, which never run.

``sapwood/__init__`` imports names at their first use by names that this check cannot see. It need not:
``sapwood`` is the last row of the table, so nothing may import it, and no cycle leads through it. The
compiled ``sapwood._core`` is below everything, and imports nothing from Python.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = "_core"
BY_NAME = {"startup"}
"""The modules that may import another one by a name in a string."""


@dataclass(frozen=True)
class Import:
    """One arrow: its place in the source, and the two modules, by their names within the package."""

    source: str
    target: str
    file: Path
    line: int


def table(text: str) -> list[str]:
    """The rows of the table of packages, lowest first; "" is the package itself."""
    return [name or "" for name in re.findall(r"^\| `sapwood(?:/(\w+))?`", text, flags=re.MULTILINE)]


def modules(package: Path) -> dict[str, Path]:
    """The file of each module, by its name within the package: ``""``, ``"model"``, ``"model.tree"``."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(name: str, file: Path, known: Mapping[str, Path], package: str) -> list[Import]:
    """The arrows from one module to others, in the order of lines."""
    around = name if file.name == "__init__.py" else _above(name)
    found = []
    for node in _running(ast.parse(file.read_text(encoding="utf-8"))):
        for target in _targets(node, around, known, package):
            for module in (*_packages_of(target), target):
                is_around = f"{name}.".startswith(f"{module}.")
                if module != name and (module == target or not is_around):
                    found.append(Import(name, module, file, node.lineno))
    return found


def by_name(file: Path, package: str) -> list[int]:
    """The lines that import a module of the package by a name in a string."""
    calls = [
        node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    return [
        call.lineno
        for call in calls
        if ast.unparse(call.func).rpartition(".")[2] in ("import_module", "__import__")
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and f"{call.args[0].value!s}.".startswith((f"{package}.", "."))
    ]


def _running(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that can run."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and _is_type_checking(child.test):
            for other in child.orelse:
                yield from _running(ast.Module([other], []))
        else:
            yield from _running(child)


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _targets(
    node: ast.Import | ast.ImportFrom, around: str, known: Mapping[str, Path], package: str
) -> list[str]:
    """The modules of the package that a statement imports, by their names within it."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        return [name[len(package) + 1 :] for name in names if f"{name}.".startswith(f"{package}.")]
    if node.level:
        above = around.split(".") if around else []
        base = [*above[: len(above) - node.level + 1], *(node.module or "").split(".")]
    elif f"{node.module}.".startswith(f"{package}."):
        base = (node.module or "").split(".")[1:]
    else:
        return []
    where = ".".join(filter(None, base))
    inside = [f"{where}.{alias.name}".lstrip(".") for alias in node.names]
    # ``from .model import tree`` imports the module ``model.tree``, ``from .model import x`` only ``model``.
    return list(dict.fromkeys(name if name in known or name == CORE else where for name in inside))


def _above(name: str) -> str:
    return name.rpartition(".")[0]


def _packages_of(name: str) -> list[str]:
    """The packages around a module, outermost first."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def cycles(arrows: Mapping[str, list[Import]]) -> list[list[Import]]:
    """A shortest cycle through each module that is in one; each cycle once, as its arrows."""
    found: dict[frozenset[str], list[Import]] = {}
    for name in arrows:
        cycle = _shortest_cycle(arrows, name)
        if cycle:
            found.setdefault(frozenset(arrow.source for arrow in cycle), cycle)
    return list(found.values())


def _shortest_cycle(arrows: Mapping[str, list[Import]], name: str) -> list[Import]:
    """The shortest path from a module back to itself; empty if there is none."""
    paths: dict[str, list[Import]] = {}
    queue: list[list[Import]] = [[]]
    for path in queue:
        for arrow in arrows.get(path[-1].target if path else name, ()):
            if arrow.target not in paths:
                paths[arrow.target] = [*path, arrow]
                queue.append(paths[arrow.target])
    return paths.get(name, [])


def problems(package: Path, order: list[str]) -> list[str]:
    """The violations of the rules, a paragraph each."""
    known = modules(package)
    arrows = {name: imports(name, file, known, package.name) for name, file in known.items()}
    found = []
    for cycle in cycles(arrows):
        steps = [_shown(arrow, package) for arrow in cycle]
        found.append("\n  ".join(["these modules import each other in a cycle:", *steps]))
    found += [
        f"{file.relative_to(package.parent)}:{line}: imports a module by a name in a string"
        for name, file in known.items()
        if name not in BY_NAME
        for line in by_name(file, package.name)
    ]
    entries = {name.partition(".")[0] for name in known}
    found += [f"{package.name}/{name} is missing from the table" for name in sorted(entries - set(order))]
    found += [
        f"{package.name}/{name} is in the table, but does not exist" for name in order if name not in entries
    ]
    level = {name: place for place, name in enumerate(order)}
    for arrow in (arrow for several in arrows.values() for arrow in several):
        source, target = arrow.source.partition(".")[0], arrow.target.partition(".")[0]
        if arrow.target == CORE:
            continue
        if arrow.target not in known:
            found.append(f"{_shown(arrow, package)}, which does not exist by this name")
        elif source != target and level.get(target, -1) > level.get(source, len(order)):
            found.append(f"{_shown(arrow, package)}, which is not above it in the table")
    return found


def _shown(arrow: Import, package: Path) -> str:
    place = f"{arrow.file.relative_to(package.parent)}:{arrow.line}"
    return f"{place}: {_module(arrow.source, package)} imports {_module(arrow.target, package)}"


def _module(name: str, package: Path) -> str:
    return f"{package.name}.{name}" if name else package.name


def main() -> int:
    """Checks the package of this checkout."""
    order = table((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    found = problems(ROOT / "python" / "sapwood", order)
    for problem in found:
        print(f"error: {problem} (ARCHITECTURE.md)", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
