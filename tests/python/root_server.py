"""Runs a script beside it again and again, in forks of a process that has imported ROOT: see `root_peer.py`.

    root_server.py SCRIPT

To start ROOT takes seconds, and a fork is as good as a new process. Each line of standard input is JSON,
[arguments, path for standard output, path for standard error]; each answer is a line with the exit status.
What all runs need is done by `prepare` of the script, if it has that; `main` is run.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

import ROOT


def main() -> None:
    """Answers until there is no more question; a fork returns when it has run the script."""
    name = sys.argv[1]
    # The import alone starts nothing.
    ROOT.gROOT.GetListOfFiles(), ROOT.TMemFile, ROOT.TTree
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is printed meanwhile is no answer
    script = importlib.import_module(name)
    getattr(script, "prepare", lambda: None)()
    for line in iter(sys.stdin.readline, ""):
        arguments, *paths = json.loads(line)
        process = os.fork()
        if process:
            _, status = os.waitpid(process, 0)
            print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
            continue
        answers.close()
        for path, number in zip(paths, (1, 2), strict=True):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv[:] = [name, *arguments]
        script.main()
        return


if __name__ == "__main__":
    main()
