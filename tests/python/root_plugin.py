"""Reads files through ROOT: run by a Python that has ROOT, see `test_root_plugin.py`.

Takes a list of tasks as JSON, each the name of a function below and its arguments, and prints the answers.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import ROOT


def total(name: str, url: str, column: str) -> float:
    """The sum of a column of a tree or RNTuple, by RDataFrame."""
    return float(ROOT.RDataFrame(name, url).Sum(column).GetValue())


LOOP = """
std::vector<double> SumsOf(TTree &tree, const std::vector<std::string> &columns) {
   std::vector<double> values(columns.size()), sums(columns.size());
   for (std::size_t i = 0; i < columns.size(); ++i)
      tree.SetBranchAddress(columns[i].c_str(), &values[i]);
   for (Long64_t entry = 0; entry < tree.GetEntries(); ++entry) {
      if (tree.GetEntry(entry) <= 0) throw std::runtime_error("an entry cannot be read");
      for (std::size_t i = 0; i < columns.size(); ++i) sums[i] += values[i];
   }
   tree.ResetBranchAddresses();
   return sums;
}
"""


def loop(name: str, url: str, columns: list[str], cache: int) -> dict[str, Any]:
    """The sums of columns of a tree of doubles, by a loop with a cache of this many bytes."""
    ROOT.gInterpreter.Declare(LOOP)
    with ROOT.TFile.Open(url) as file:
        tree = file.Get(name)
        tree.SetCacheSize(cache)
        tree.SetBranchStatus("*", False)
        for column in columns:
            tree.SetBranchStatus(column, True)
            tree.AddBranchToCache(column)
        tree.StopCacheLearningPhase()
        opened = file.GetReadCalls()
        begin = time.monotonic()
        sums = dict(zip(columns, map(float, ROOT.SumsOf(tree, columns)), strict=True))
        seconds = time.monotonic() - begin
        report = getattr(file, "Report", lambda: "{}")()
        reads = file.GetReadCalls() - opened
        return {
            "class": file.ClassName(),
            "sums": sums,
            "seconds": seconds,
            "reads": reads,
            "report": json.loads(str(report)),
        }


def anchored(name: str, url: str, column: str) -> float:
    """The sum of a column of an RNTuple that a TFile finds."""
    with ROOT.TFile.Open(url) as file:
        reader = ROOT.RNTupleReader.Open(file.Get(name))
        view = reader.GetView["double"](column)
        found = float(sum(view(entry) for entry in range(reader.GetNEntries())))
        del view, reader  # They read the file in the background as long as they live.
        return found


def opened(url: str, mode: str) -> str:
    """The class of the file that ROOT opens, or why it does not."""
    try:
        with ROOT.TFile.Open(url, mode) as file:
            return str(file.ClassName())
    except OSError as error:
        return str(error)


if __name__ == "__main__":
    print(json.dumps([globals()[name](*arguments) for name, *arguments in json.loads(sys.argv[1])]))
