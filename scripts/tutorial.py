"""Makes the notebook of the tutorial from its page, docs/tutorial/dimuon.md.

python scripts/tutorial.py           writes docs/tutorial/dimuon.ipynb, without outputs
python scripts/tutorial.py --run     also executes it; a local server stands in for https://example.org
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import http_server

PAGE = Path(__file__).parents[1] / "docs" / "tutorial" / "dimuon.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
CODE = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def notebook(text: str) -> Any:
    """The notebook: a cell for each block of the page, and for the text between them; without its picture."""
    import nbformat

    cells, end = [], 0
    for match in [*CODE.finditer(text), None]:
        words = re.sub(r"^!\[.*\n", "", text[end : match.start() if match else None], flags=re.MULTILINE)
        if words.strip():
            cells.append(nbformat.v4.new_markdown_cell(words.strip()))
        if match:
            language, code = match.groups()
            shell = "".join(f"!{line}\n" for line in code.splitlines())
            cells.append(nbformat.v4.new_code_cell((code if language == "python" else shell).strip()))
            end = match.end()
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return nbformat.v4.new_notebook(cells=cells)


def execute(document: Any) -> None:
    """Runs the cells in order, except that nothing is installed; the first error ends it."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "sapwood", "example", str(folder / "nano.root")], check=True)
        served = folder / "served"
        served.mkdir()
        (served / "nano.root").hardlink_to(folder / "nano.root")
        (folder / "nano.root").unlink()
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with http_server.serving(served) as (url, _):
            for cell in document.cells:
                cell.source = cell.source.replace("https://example.org", url)
                if cell.source.startswith("!pip"):
                    cell.source = ""
            NotebookClient(document, timeout=120, resources={"metadata": {"path": name}}).execute()


def main() -> int:
    import nbformat

    document = notebook(PAGE.read_text(encoding="utf-8"))
    nbformat.write(document, NOTEBOOK)
    if "--run" in sys.argv[1:]:
        execute(document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
