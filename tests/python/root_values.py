"""Prints what ROOT reads in a file, as JSON: run by a Python that has ROOT, see `root_peer.py`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from array import array
from typing import Any

import ROOT

WHOLE = {"Char_t", "UChar_t", "Short_t", "UShort_t", "Int_t", "UInt_t", "Long64_t", "ULong64_t", "Bool_t"}


def plain(value: Any) -> Any:
    """A value of Python's own types."""
    if isinstance(value, (bytes, str)):
        return value.decode() if isinstance(value, bytes) else value
    if isinstance(value, (bool, int, float)):
        return value
    if type(value).__name__ in ("string", "basic_string"):
        return str(value)
    if not hasattr(value, "size"):
        raise SystemExit(f"what is {type(value)}?")
    # By number: cppyy's iteration over nested vectors fails now and then.
    return [plain(value[place]) for place in range(value.size())]


def as_numbers(value: Any) -> Any:
    """Characters, as Python's ROOT has them, as the numbers that they are: modulo 256."""
    if isinstance(value, list):
        return [as_numbers(item) for item in value]
    return ord(value) if isinstance(value, str) else value % 256


def numbers(leaf: Any) -> list[Any]:
    """The numbers of a leaf in the current entry."""
    kind = leaf.GetTypeName()
    if kind not in WHOLE:
        return [leaf.GetValue(i) for i in range(leaf.GetLen())]
    values = [leaf.GetValueLong64(i) for i in range(leaf.GetLen())]
    return [value % 2**64 for value in values] if kind == "ULong64_t" else values


def entries(tree: Any) -> dict[str, Any]:
    """All values of all branches; those of fixed arrays one after the other."""
    leaves = {branch.GetName(): branch.GetListOfLeaves()[0] for branch in tree.GetListOfBranches()}
    values: dict[str, list[Any]] = {name: [] for name in leaves}
    for entry in range(tree.GetEntries()):
        if tree.GetEntry(entry) <= 0:
            raise SystemExit(f"entry {entry} cannot be read")
        for name, leaf in leaves.items():
            if leaf.ClassName() == "TLeafC":
                values[name].append(str(leaf.GetValueString()))
            elif leaf.ClassName() == "TLeafElement":
                value = plain(getattr(tree, name))
                values[name].append(as_numbers(value) if "char" in leaf.GetTypeName() else value)
            else:
                values[name].append(numbers(leaf))
    return values


def histogram(found: Any) -> dict[str, Any]:
    """What a histogram says of itself."""
    axes = [found.GetXaxis(), found.GetYaxis(), found.GetZaxis()][: found.GetDimension()]
    return {
        "class": found.ClassName(),
        "title": found.GetTitle(),
        "cells": [found.GetBinContent(cell) for cell in range(found.GetNcells())],
        "errors": [found.GetBinError(cell) for cell in range(found.GetNcells())],
        "mean": found.GetMean(),
        "deviation": found.GetStdDev(),
        "labels": [axis.GetBinLabel(1) for axis in axes],
        "titles": [axis.GetTitle() for axis in axes],
    }


def contents(directory: Any) -> dict[str, Any]:
    """Everything in a directory, and those in it, by path."""
    found: dict[str, Any] = {}
    for key in directory.GetListOfKeys():
        item = key.ReadObj()
        name = key.GetName()
        if item.InheritsFrom("TDirectory"):
            found.update({f"{name}/{path}": value for path, value in contents(item).items()})
        elif item.InheritsFrom("TTree"):
            found[name] = entries(item)
        else:
            found[name] = histogram(item) if item.InheritsFrom("TH1") else str(item)
    return found


def prepare() -> None:
    """Reads a tree, so that what this takes is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "some.root")
        file = ROOT.TFile.Open(path, "recreate")
        tree = ROOT.TTree("tree", "")
        tree.Branch("x", array("i", [1]), "x/I")
        tree.Fill()
        file.Write()
        file.Close()
        file = ROOT.TFile.Open(path)
        contents(file)
        file.Close()


def main() -> None:
    """Reads the files that are named."""
    results = []
    for path in sys.argv[1:]:
        file = ROOT.TFile.Open(path)
        results.append(contents(file))
        file.Close()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
