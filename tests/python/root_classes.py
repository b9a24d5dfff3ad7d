"""Compiles the classes that a file describes: run by a Python that has ROOT, see `root_peer.py`.

    root_classes.py FOLDER FILE

The library in FOLDER, which is made, has the name of the folder; there is none, if ROOT knows all classes.
"""

from __future__ import annotations

import os
import sys

import ROOT


def main() -> None:
    """Compiles them, without loading the library."""
    ROOT.gErrorIgnoreLevel = ROOT.kError  # Some classes are only known by what the file says of them.
    ROOT.gEnv.SetValue("Root.Stacktrace", "no")
    folder, path = sys.argv[1:]
    os.environ["PATH"] += os.pathsep + str(ROOT.gROOT.GetBinDir())  # of rootcling
    # Optimised, they would take twice the time to compile.
    ROOT.gSystem.SetFlagsOpt("-O0")
    ROOT.TFile.Open(path).MakeProject(folder, "*", "new+")
    is_made = os.path.exists(os.path.join(folder, os.path.basename(folder) + ".so"))
    if os.path.exists(os.path.join(folder, "MAKEP")) and not is_made:
        raise SystemExit(f"the classes that {path} describes do not compile")
    sys.stdout.flush()
    os._exit(0)  # what ROOT makes of objects without a dictionary at its end is not the question


if __name__ == "__main__":
    main()
