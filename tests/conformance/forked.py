"""compare.py of the corpus on many files, a process for each:  forked.py CORPUS ADAPTER OUT FILE...

compare.py starts a Python for every file, as a reader might end its process, and most of the time goes into
what that imports. Here each process is a fork of this one, which has imported it all. A file whose process
does not come to its end is left to compare.py, which finds out at which branch that is. OUT is JSON: the
verdicts by the name of the file.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import awkward

FILE_SECONDS = 300
ENTRIES = 1000  # of a branch; what compare.py takes by itself


def main(corpus: str, adapter: str, out: str, *paths: str) -> None:
    """Compares the files, as many at a time as there are processors."""
    sys.path.insert(0, corpus)
    compare = importlib.import_module("compare")
    compare.load_candidate(adapter)
    # With what it imports when it is used.
    importlib.import_module("canon").digest(awkward.Array([1]))
    unused = {"live": False, "skip": None, "branch": None, "ref_only_ok": False, "stderr": False}
    options = argparse.Namespace(
        module=adapter, oracle=corpus, entries=ENTRIES, timeout=FILE_SECONDS, **unused
    )
    gc.freeze()  # so that forks share what is here
    found: dict[str, list[dict[str, Any]]] = {}
    waiting, running = list(paths), {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < max(2, os.cpu_count() or 2):
                path, said = waiting.pop(0), Path(folder) / f"{len(waiting)}"
                running[_start(compare, options, path, said)] = path, said
            process, _ = os.wait()
            path, said = running.pop(process)
            lines = [json.loads(line) for line in said.read_text().splitlines()]
            if not lines or "done" not in lines[-1]:
                lines, _ = compare.run_file(options, path)
            found[Path(path).name] = [line for line in lines if "verdict" in line]
    Path(out).write_text(json.dumps(found))


def _start(compare: Any, options: argparse.Namespace, path: str, said: Path) -> int:
    """The process that writes what compare.py's own would say."""
    said.touch()
    process = os.fork()
    if process:
        return process
    try:
        signal.alarm(FILE_SECONDS)
        os.dup2(os.open(said, os.O_WRONLY), 1)
        compare.worker(argparse.Namespace(files=[path], **vars(options)))
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
