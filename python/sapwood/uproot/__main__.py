"""``python -m sapwood.uproot``: runs a program that uses uproot, with trees that sapwood reads."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from .. import startup
from . import switch_on

USAGE = """usage: python -m sapwood.uproot SCRIPT [ARGUMENTS …]
       python -m sapwood.uproot -m MODULE [ARGUMENTS …]
       python -m sapwood.uproot --install | --uninstall

Runs a program that uses uproot; trees are read by sapwood. Processes that it starts do the same if they
inherit its environment and sapwood's start file is installed:

  --install    writes the start file, so that SAPWOOD_UPROOT=1 works for every program of this Python
  --uninstall  removes it
"""


def main(arguments: list[str]) -> int:
    """Runs what the arguments say; returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else 2
    if arguments[0] in ("--install", "--uninstall"):
        print(startup.install() if arguments[0] == "--install" else startup.uninstall())
        return 0
    os.environ.setdefault(startup.VARIABLE, "1")
    switch_on()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print(USAGE, end="", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
