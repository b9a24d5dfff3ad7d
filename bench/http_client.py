"""One cold read of some columns by one client, in this process; prints seconds and sums as JSON.

python bench/http_client.py sapwood|uproot|uproot-HTTPSource|ROOT URL TREE COLUMN...
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

# A column's sum is compared between clients that add in different orders.
DIGITS = 6

# Adds up each column: the value must be taken out, as any analysis would.
ROOT_LOOP = """
#include <TLeaf.h>
#include <TTree.h>
#include <TWebFile.h>
#include <string>
#include <vector>
std::vector<double> sum_columns(const char *url, const char *name, const std::vector<std::string> &columns)
{
   ROOT::Deprecated::TWebFile file(url);
   auto *tree = file.Get<TTree>(name);
   tree->SetBranchStatus("*", false);
   std::vector<TLeaf *> leaves;
   for (const auto &column : columns) {
      tree->SetBranchStatus(column.c_str(), true);
      auto *leaf = tree->GetLeaf(column.c_str());
      if (auto *count = leaf->GetLeafCount())
         tree->SetBranchStatus(count->GetName(), true);
      leaves.push_back(leaf);
   }
   std::vector<double> sums(columns.size());
   const auto entries = tree->GetEntries();
   for (Long64_t entry = 0; entry < entries; entry++) {
      tree->GetEntry(entry);
      for (std::size_t i = 0; i < leaves.size(); i++) {
         const auto *values = static_cast<const float *>(leaves[i]->GetValuePointer());
         const int length = leaves[i]->GetLen();
         for (int k = 0; k < length; k++)
            sums[i] += values[k];
      }
   }
   return sums;
}
"""

Sums = list[float]
Read = Callable[[str, str, list[str]], Any]


def array_sums(arrays: dict[str, Any], columns: list[str]) -> Sums:
    import awkward as ak
    import numpy as np

    return [float(np.sum(ak.to_numpy(ak.flatten(arrays[name], axis=None)), dtype="f8")) for name in columns]


def sapwood_reader() -> Read:
    import awkward  # noqa: F401

    import sapwood

    open_tree: Callable[[str], Any] = sapwood.open
    return lambda url, tree, columns: open_tree(f"{url}:{tree}").arrays(columns, how=dict)


def uproot_reader(handler: str | None = None) -> Read:
    import awkward  # noqa: F401
    import uproot

    options = {"handler": getattr(uproot, handler)} if handler else {}
    return lambda url, tree, columns: uproot.open(f"{url}:{tree}", **options).arrays(columns, how=dict)


def root_reader() -> Read:
    import ROOT  # type: ignore[import-untyped]

    # The wheel has no other HTTP client, and TFile::Open does not find this one.
    ROOT.gSystem.Load("libNet")
    ROOT.gInterpreter.Declare(ROOT_LOOP)
    loop = ROOT.sum_columns
    return lambda url, tree, columns: list(loop(url, tree, columns))


def main() -> None:
    client, url, tree, *columns = sys.argv[1:]
    readers: dict[str, Callable[[], Read]] = {
        "sapwood": sapwood_reader,
        "uproot": uproot_reader,
        "uproot-HTTPSource": lambda: uproot_reader("HTTPSource"),
        "ROOT": root_reader,
    }
    read = readers[client]()
    begin = time.perf_counter()
    result = read(url, tree, columns)
    seconds = time.perf_counter() - begin
    sums = result if client == "ROOT" else array_sums(result, columns)
    rounded = [float(f"{value:.{DIGITS}g}") for value in sums]
    print(json.dumps({"client": client, "seconds": seconds, "sums": rounded}))


if __name__ == "__main__":
    main()
