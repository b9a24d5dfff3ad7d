"""Prints what ROOT reads of split objects, without their classes, as JSON: run by a Python that has ROOT, see
`root_peer.py`."""

from __future__ import annotations

import json
import sys
from typing import Any

import ROOT

STL = 300


def values(tree: Any) -> dict[str, list[list[Any]]]:
    """The values of every branch that has any: a flat list for each entry."""
    formulas, leaves = {}, {}
    for leaf in tree.GetListOfLeaves():
        branch = leaf.GetBranch()
        if branch.GetStreamerType() >= STL and branch.GetType() != 4:
            formulas[branch.GetName()] = ROOT.TTreeFormula(branch.GetName(), branch.GetName(), tree)
        elif branch.GetStreamerType() > 0 and branch.GetType() != 4:
            leaves[branch.GetName()] = leaf
    found: dict[str, list[list[Any]]] = {name: [] for name in [*leaves, *formulas]}
    for entry in range(tree.GetEntries()):
        if tree.LoadTree(entry) < 0 or tree.GetEntry(entry) <= 0:
            raise SystemExit(f"entry {entry} cannot be read")
        for name, leaf in leaves.items():
            found[name].append([number(leaf, place) for place in range(leaf.GetLen())])
        for name, formula in formulas.items():
            places = range(formula.GetNdata())
            if formula.IsString():
                found[name].append([str(formula.EvalStringInstance(place)) for place in places])
            else:
                found[name].append([formula.EvalInstance(place) for place in places])
    return found


def number(leaf: Any, place: int) -> Any:
    """A number, as exactly as its type has it."""
    if leaf.GetTypeName() in ("Long64_t", "ULong64_t"):
        return leaf.GetValueLong64(place)
    return leaf.GetValue(place)


def main() -> None:
    """Reads the tree of the files that are named."""
    results = []
    for path in sys.argv[1:]:
        file = ROOT.TFile.Open(path)
        results.append(values(file.Get("T")))
        file.Close()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
